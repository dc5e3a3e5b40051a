// SPDX-License-Identifier: Apache-2.0
// Communicators of one rank: what one GPU allows. Sizes that differ are not tried, because they may hang.
#include "handles.hpp"
#include "probes.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace weft::gpu {
namespace {

using mode = lone_communicator::mode;

constexpr std::size_t sent_bytes = std::size_t{1} << 20;

/// A stream and two buffers for a rank that sends to itself.
template <class Memory>
struct desk {
  explicit desk(Memory (*make)(std::size_t)) : from(make(sent_bytes)), to(make(sent_bytes)) {
    put(from.get(), pattern(sent_bytes));
    put(to.get(), std::vector<std::byte>(sent_bytes));
  }

  void put(std::byte* there, const std::vector<std::byte>& bytes) const {
    demand(cudaMemcpyAsync(there, bytes.data(), sent_bytes, cudaMemcpyDefault, stream.get()), "cudaMemcpyAsync");
    demand(cudaStreamSynchronize(stream.get()), "cudaStreamSynchronize");
  }
  /// Once the stream is done.
  [[nodiscard]] std::string verdict() const {
    std::vector<std::byte> seen(sent_bytes);
    demand(cudaMemcpyAsync(seen.data(), to.get(), sent_bytes, cudaMemcpyDefault, stream.get()), "cudaMemcpyAsync");
    demand(cudaStreamSynchronize(stream.get()), "cudaStreamSynchronize");
    return seen == pattern(sent_bytes) ? "the bytes arrive" : "the bytes are wrong";
  }

  owned_stream stream = new_stream();
  Memory from;
  Memory to;
};

desk<device_memory> device_desk() {
  return desk<device_memory>(new_device_memory);
}

/// The answers of the send, the receive and the end of the group, and what the communicator comes to.
template <class Memory>
std::string exchange_with_itself(const lone_communicator& one, const desk<Memory>& on, std::size_t bytes = sent_bytes) {
  demand(ncclGroupStart(), "ncclGroupStart");
  const std::string sent = named(one.send(on.from.get(), bytes, on.stream.get()));
  const std::string received = named(one.receive(on.to.get(), bytes, on.stream.get()));
  const std::string ended = named(ncclGroupEnd());
  return listed({sent, received, ended, named(one.settle())});
}

std::string unique_ids() {
  ncclUniqueId first;
  ncclUniqueId second;
  const std::string made = named(ncclGetUniqueId(&first));
  const std::string again = named(ncclGetUniqueId(&second));
  return listed({made, again, std::memcmp(&first, &second, sizeof first) == 0 ? "the same" : "different"});
}

std::string communicator() {
  lone_communicator one(mode::blocking);
  int size = -1;
  int rank = -1;
  int device = -1;
  const std::string asked =
      listed({named(one.created()), named(one.poll()), named(ncclCommCount(one.handle(), &size)),
              named(ncclCommUserRank(one.handle(), &rank)), named(ncclCommCuDevice(one.handle(), &device))});
  return listed({asked, "rank " + std::to_string(rank) + " of " + std::to_string(size),
                 "device " + std::to_string(device), named(one.end_by_destroy())});
}

std::string communicator_in_progress() {
  const lone_communicator one(mode::polled);
  const std::string handle = one.handle() != nullptr ? "a handle at once" : "no handle";
  return listed({named(one.created()), handle, named(one.settle())});
}

std::string call_in_progress() {
  const lone_communicator one(mode::polled);
  int size = -1;
  const std::string asked = named(ncclCommCount(one.handle(), &size));
  return listed({named(one.created()), asked, named(one.settle())});
}

std::string rank_outside() {
  return named(lone_communicator(mode::blocking, 1).created());
}

std::string group_to_itself() {
  const auto on = device_desk();
  lone_communicator one(mode::blocking);
  return listed({exchange_with_itself(one, on), on.verdict(), named(one.end_by_destroy())});
}

std::string group_in_progress() {
  const auto on = device_desk();
  const lone_communicator one(mode::polled);
  const std::string created = named(one.settle());
  return listed({created, exchange_with_itself(one, on), on.verdict()});
}

std::string group_of_pinned_memory() {
  const desk<pinned_memory> on(new_pinned_memory);
  const lone_communicator one(mode::blocking);
  return listed({exchange_with_itself(one, on), on.verdict()});
}

std::string group_of_no_bytes() {
  const auto on = device_desk();
  const lone_communicator one(mode::blocking);
  return listed({exchange_with_itself(one, on, 0), named(cudaStreamSynchronize(on.stream.get()))});
}

std::string event_behind_group() {
  const auto on = device_desk();
  const lone_communicator one(mode::polled);
  (void)one.settle();
  (void)exchange_with_itself(one, on);  // the connection
  demand(cudaStreamSynchronize(on.stream.get()), "cudaStreamSynchronize");
  const owned_event event = new_event();
  gate work(on.stream.get());
  const std::string group = exchange_with_itself(one, on);
  demand(cudaEventRecord(event.get(), on.stream.get()), "cudaEventRecord");
  const std::string before = named(cudaEventQuery(event.get()));
  work.open();
  return listed({group, before, named(cudaEventSynchronize(event.get())), on.verdict()});
}

std::string two_communicators() {
  const auto on = device_desk();
  const auto on_other = device_desk();
  const lone_communicator one(mode::blocking);
  const lone_communicator other(mode::blocking);
  const std::string first = exchange_with_itself(one, on);
  return listed({first, exchange_with_itself(other, on_other), on.verdict(), on_other.verdict()});
}

std::string send_alone() {
  const auto on = device_desk();
  const lone_communicator one(mode::blocking);
  return named(one.send(on.from.get(), sent_bytes, on.stream.get()));
}

std::string send_alone_in_group() {
  const auto on = device_desk();
  const lone_communicator one(mode::blocking);
  demand(ncclGroupStart(), "ncclGroupStart");
  const std::string sent = named(one.send(on.from.get(), sent_bytes, on.stream.get()));
  return listed({sent, named(ncclGroupEnd())});
}

std::string peer_outside() {
  const auto on = device_desk();
  const lone_communicator one(mode::blocking);
  demand(ncclGroupStart(), "ncclGroupStart");
  const std::string sent = named(one.send(on.from.get(), sent_bytes, on.stream.get(), 1));
  return listed({sent, named(ncclGroupEnd())});
}

std::string group_end_alone() {
  return named(ncclGroupEnd());
}

std::string empty_group() {
  const std::string started = named(ncclGroupStart());
  return listed({started, named(ncclGroupEnd())});
}

std::string group_within_group() {
  const auto on = device_desk();
  const lone_communicator one(mode::blocking);
  demand(ncclGroupStart(), "ncclGroupStart");
  const std::string inner = exchange_with_itself(one, on);
  const std::string outer = named(ncclGroupEnd());
  return listed({inner, outer, on.verdict()});
}

std::string finalizing() {
  const auto on = device_desk();
  lone_communicator one(mode::polled);
  (void)one.settle();
  (void)exchange_with_itself(one, on);
  const std::string begun = named(ncclCommFinalize(one.handle()));
  const std::string ended = named(one.settle());
  return listed({begun, ended, named(one.end_by_destroy())});
}

std::string abort_at_rest() {
  const auto on = device_desk();
  lone_communicator one(mode::polled);
  (void)one.settle();
  (void)exchange_with_itself(one, on);
  return listed({on.verdict(), named(one.end_by_abort()), named(cudaStreamQuery(on.stream.get()))});
}

std::string abort_in_progress() {
  lone_communicator one(mode::polled);
  return listed({named(one.created()), named(one.end_by_abort())});
}

constexpr std::array probes{
    probe{"unique ids", unique_ids},
    probe{"communicator", communicator},
    probe{"communicator in progress", communicator_in_progress},
    probe{"call in progress", call_in_progress},
    probe{"rank outside of the communicator", rank_outside},
    probe{"group to itself", group_to_itself},
    probe{"group in progress", group_in_progress},
    probe{"group of pinned memory", group_of_pinned_memory},
    probe{"group of no bytes", group_of_no_bytes},
    probe{"event behind a group", event_behind_group},
    probe{"two communicators", two_communicators},
    probe{"send alone", send_alone},
    probe{"send alone in a group", send_alone_in_group},
    probe{"peer outside of the communicator", peer_outside},
    probe{"end of no group", group_end_alone},
    probe{"empty group", empty_group},
    probe{"group within a group", group_within_group},
    probe{"finalizing", finalizing},
    probe{"abort at rest", abort_at_rest},
    probe{"abort in progress", abort_in_progress},
};

}  // namespace

std::span<const probe> nccl_probes() {
  return probes;
}

}  // namespace weft::gpu
