// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/engine/operation_details.hpp>
#include <weft/engine/peer.hpp>
#include <weft/engine/rendezvous.hpp>
#include <weft/serializers/segments.hpp>

#include <boost/system/error_code.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace weft {

/// What carries the links between ranks.
enum class transport : std::uint8_t {
  automatic,    ///< Unix sockets between ranks of one host, TCP between hosts
  unix_socket,  ///< Unix sockets; ranks on other hosts cannot be reached
  tcp,          ///< TCP even on one host; needs a job key
};

/// What carries the device and pair routes.
enum class device_choice : std::uint8_t {
  automatic,  ///< a GPU, where weft's module for CUDA can be loaded and CUDA finds one; else the host device
  host,       ///< ordinary memory, shared memory and sockets
  cuda,       ///< a GPU: where there is none, joining fails and says what CUDA says
};

/// How much a line of the log matters.
enum class log_level : std::uint8_t { info, warning, error };

/// The largest `engine_options::eager_limit`, in bytes.
inline constexpr std::size_t largest_eager_limit = std::size_t{64} << 10;

/// The largest `engine_options::world_size`. Each rank keeps the addresses of all others, and rank 0 two links to each.
inline constexpr int largest_world_size = 65'536;

/// The smallest and the largest `engine_options::join_timeout` and `set_up_timeout`. Who waits longer than a month has
/// no deadline in mind.
/// @{
inline constexpr std::chrono::milliseconds shortest_timeout{1};
inline constexpr std::chrono::milliseconds longest_timeout = std::chrono::hours{30 * 24};
/// @}

/// The smallest and the largest `engine_options::link_timeout`. The kernel probes idle connections in whole seconds.
/// @{
inline constexpr std::chrono::milliseconds shortest_link_timeout{1'000};
inline constexpr std::chrono::milliseconds longest_link_timeout{24 * 3'600'000};
/// @}

/// The largest `engine_options::spin`: who waits for a second is not about to get an answer.
inline constexpr std::chrono::microseconds longest_spin{1'000'000};

/// How an engine is set up. Sizes are in bytes.
struct engine_options {
  int rank = 0;        ///< this process's number in the group, from 0
  int world_size = 1;  ///< how many ranks the group has, up to `largest_world_size`

  /// Where the ranks meet: "host:port" or "unix:name". Unused when `meeting` is set or `world_size` is 1.
  std::string rendezvous_address;
  /// A rendezvous of your own, or the in-process one.
  std::shared_ptr<rendezvous> meeting;
  /// The secret that all ranks of the job share. Empty: links stay on this host, between processes of this user.
  std::string job_key;
  /// What carries the links.
  weft::transport transport = weft::transport::automatic;
  /// Whether links between ranks of one host that can be had over Unix sockets carry their bytes in shared memory: 2
  /// MiB for each peer that this rank has a link to. So do the channels of the host device: 2 MiB for each direction
  /// between two ranks of a communicator, of which half is used. Where the other end does not want it, or cannot, the
  /// socket does.
  bool shared_memory = true;
  /// How long the loop watches links over shared memory for what comes next before it sleeps, at most; 0: it sleeps at
  /// once. Nobody need be woken then, but for as long as it lasts the loop does nothing else, and its
  /// processor nothing but wait: a few tens of microseconds are plenty. It adapts: where watching does not pay, because
  /// answers take longer or others need the processor, it stops until it would. The first time after that it watches
  /// for up to 100 us more, where the other end had to be woken before it can answer.
  std::chrono::microseconds spin{0};
  /// The name or number by which other hosts reach this one. Empty: the address that packets to the rendezvous leave
  /// from.
  std::string listen_host;

  /// What carries the device and pair routes; the same kind on all ranks.
  device_choice device = device_choice::automatic;
  /// Which GPU, as CUDA counts them. Two engines of one GPU cannot be in one group.
  int device_ordinal = 0;
  /// Memory of the GPU that is taken from CUDA when the engine joins: `device_buffer`s come from it, and messages of
  /// several pieces are put together in it. No more is taken later, because that can block (NVIDIA/nccl#48).
  std::size_t device_pool_bytes = std::size_t{256} << 20;
  /// Pinned memory for host memory on its way to or from a GPU. More is taken when it is needed and the GPU is at rest.
  std::size_t staging_bytes = std::size_t{64} << 20;

  /// Host memory up to this size travels inside of the announcement.
  std::size_t eager_limit = std::size_t{16} << 10;
  /// Inline payload that a sender may have unmatched at one receiver; beyond it a send waits for its match.
  std::size_t inline_credit = std::size_t{4} << 20;
  /// Envelopes that this engine holds unmatched; the send beyond fails by name.
  std::size_t max_unmatched = 1'000'000;
  /// The largest object message that this engine receives.
  std::size_t max_object_bytes = std::size_t{1} << 30;
  /// Contiguous numbers within objects, of at least so many bytes, are sent from where they lie.
  std::size_t segment_threshold = serializers::default_segment_threshold;
  /// What object messages may ask for when they are decoded; a receive may have limits of its own.
  serializers::limits object_limits{};

  /// For `engine::join` to meet all ranks.
  std::chrono::milliseconds join_timeout{60'000};
  /// For creating or connecting a communicator.
  std::chrono::milliseconds set_up_timeout{30'000};
  /// For a batch of transfers by `device` or `pair`, from its launch to its end; `no_limit`: as long as it takes.
  /// Beyond it the communicator is aborted at all of its ranks, what was under way on it ends as `transfer_aborted`,
  /// and later transfers take a new one.
  std::chrono::nanoseconds launch_timeout = no_limit;
  /// Pair communicators that a rank has at a time. Beyond it the one unused for longest is destroyed, if it has been
  /// idle for long; if none has, the transfer takes the communicator of its group. What rank 0 says holds for all.
  std::size_t pair_budget = 16;
  /// The same in bytes of a GPU's memory, for all pair communicators of a rank: the count that is reached first limits
  /// them. What one takes is an estimate, 26 MiB: NCCL does not say. 512 MiB are enough for 16. What rank 0 says holds
  /// for all; on the host device they take none.
  std::size_t pair_budget_bytes = std::size_t{512} << 20;
  /// Over TCP: a peer whose host has answered nothing for that long is lost, and so is one that has taken in nothing
  /// for that long while all buffers towards it are full. Longer than routers take to find another way and than
  /// executors should be blocked, shorter than the patience of a job.
  std::chrono::milliseconds link_timeout{30'000};

  /// Told of each communicator that is created, of the device that `automatic` takes for want of a GPU and why (at
  /// level info), of lost ranks, of refused connections, and of ranks that keep the others waiting at the rendezvous.
  /// Called on the engine's executor, one line at a time.
  std::function<void(log_level, std::string_view)> log;
  /// Told of a message that had completed at this sender (an inline send) and failed at its receiver.
  std::function<void(const boost::system::error_code&, const operation_details&)> late_error;
};

/// Reads a variable of the environment; null where it is unset. For tests, and for embedding systems.
using environment = std::function<const char*(const char*)>;

/// Options for this process from the variables of weft-run (WEFT_RENDEZVOUS, WEFT_JOB_KEY, WEFT_TRANSPORT, RANK,
/// WORLD_SIZE), torchrun, Open MPI (OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE) or Slurm (SLURM_PROCID, SLURM_NTASKS),
/// and from WEFT_DEVICE. Unless that is `host`, the first of WEFT_DEVICE_ORDINAL, WEFT_LOCAL_RANK, LOCAL_RANK,
/// OMPI_COMM_WORLD_LOCAL_RANK and SLURM_LOCALID that is set is the `device_ordinal`. One of weft's own (WEFT_...) that
/// is empty counts as unset. No variable at all means a group of one. Throws `weft::error` with `errc::bad_environment`
/// that names the variable, its value and what was expected, where one is missing, malformed, or contradicts another.
[[nodiscard]] engine_options options_from_environment();
/// The same, from variables that `variable` reads.
[[nodiscard]] engine_options options_from_environment(const environment& variable);

}  // namespace weft
