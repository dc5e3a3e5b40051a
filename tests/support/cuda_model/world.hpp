// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda_model/options.hpp"
#include "cuda_model/rules.hpp"

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

/// The strict model: the CUDA runtime and NCCL functions that weft calls, on the CPU, linked in place of the libraries.
///
/// Ranks are threads of one process, and the rank is the number of its device. Streams advance by themselves, in a
/// thread of the model. Whatever NCCL leaves undefined, or may punish with a hang, is a violation; it names its rule.
/// Functions that weft does not call are not there, and do not link.
namespace cuda_model {

struct state;

/// The devices of this process, until it is destroyed. Without a world, there is no driver. At most one at a time.
///
/// Violations that nobody has read abort the program at the end.
class world {
 public:
  explicit world(int ranks, const options& wanted = {});
  world(const world&) = delete;
  world& operator=(const world&) = delete;
  ~world();

  /// The calling thread works for that rank, as after cudaSetDevice.
  void bind(int rank);
  /// Runs `rank_main` for each rank in a thread of its own. A rank whose function has returned makes no more calls.
  /// Call it once.
  void run(const std::function<void(int)>& rank_main);

  /// Nothing moves on that device until it is released.
  void hold(int rank);
  void release(int rank);
  /// The next thread that makes NCCL calls for the rank is to be the one that makes them all. Only a device at rest may
  /// change hands.
  void hand_over(int rank);

  void inject(injection wanted);
  /// Ends the calls that `lasts` has blocked.
  void release_lasting();
  /// Every communicator of the rank has an asynchronous error from now on; what is under way never ends.
  void fail_communicators(int rank, ncclResult_t code);
  /// Every call on the device answers this from now on; what is under way never ends.
  void break_device(int rank, cudaError_t code);
  /// The rank died: nothing on its device moves again.
  void lose(int rank);

  /// What was done wrong. `report` is empty if nothing was, and has a line for each violation.
  [[nodiscard]] std::vector<violation> violations() const;
  [[nodiscard]] bool broke(const rule& one) const;
  [[nodiscard]] std::string report() const;
  /// What was made and not destroyed, and what is unfinished: a line for each kind.
  [[nodiscard]] std::string leftovers() const;

  /// How often a function was called.
  [[nodiscard]] int calls(std::string_view function) const;
  /// Unique ids that have not become communicators: each holds a thread and a socket.
  [[nodiscard]] int unredeemed_ids() const;
  /// Events made without cudaEventDisableTiming: an order of magnitude slower.
  [[nodiscard]] int timing_events() const;

  /// Device or pinned memory, past the streams.
  void write(void* to, std::span<const std::byte> bytes) const;
  [[nodiscard]] std::vector<std::byte> read(const void* from, std::size_t bytes) const;

 private:
  std::shared_ptr<state> state_;
  std::thread engine_;
};

/// Every function that `inject` knows.
[[nodiscard]] std::span<const std::string_view> functions() noexcept;

}  // namespace cuda_model
