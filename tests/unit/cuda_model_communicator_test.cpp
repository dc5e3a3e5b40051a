// SPDX-License-Identifier: Apache-2.0
// Communicators of the strict model, from their creation to their end.
#include "cuda_model_ranks.hpp"

#include <barrier>
#include <latch>
#include <thread>

namespace {

using namespace cuda_model_test;
using cuda_model::world;
namespace rules = cuda_model::rules;
using mode = member::mode;

TEST_CASE("a non-blocking communicator is in progress until every rank has come and it was polled") {
  world all(2, {.in_progress_polls = 3});
  const ncclUniqueId id = new_id();
  std::barrier together(2);
  all.run([&](int rank) {
    if (rank == 1) together.arrive_and_wait();
    const member self(id, 2, rank, mode::polled);
    CHECK(self.created() == ncclInProgress);
    if (rank == 0) {
      for (int i = 0; i < 20; ++i) CHECK(self.poll() == ncclInProgress);
      together.arrive_and_wait();
    } else {
      for (int i = 0; i < 3; ++i) CHECK(self.poll() == ncclInProgress);
    }
    CHECK(self.settle() == ncclSuccess);
    int count = 0;
    CHECK(ncclCommCount(self.communicator(), &count) == ncclSuccess);
    CHECK(count == 2);
  });
  CHECK(all.report() == "");
}

/// Two ranks on a non-blocking communicator that is ready.
template <class RankMain>
void on_polled_communicator(world& all, RankMain rank_main) {
  const ncclUniqueId id = new_id();
  all.run([&](int rank) {
    std::byte* memory = device_memory(8);
    all.write(memory, bytes_of(8, rank));
    const member self(id, 2, rank, mode::polled);
    CHECK(self.settle() == ncclSuccess);
    rank_main(self, rank, memory);
  });
}

TEST_CASE("a non-blocking group reaches its stream only when it succeeds") {
  world all(2);
  on_polled_communicator(all, [&](const member& self, int rank, std::byte* memory) {
    CHECK(self.one(rank == 0 ? to(1, memory, 8) : from(0, memory, 8)) == ncclInProgress);
    CHECK(self.settle() == ncclSuccess);
    CHECK(self.synchronize() == cudaSuccess);
    CHECK(all.read(memory, 8) == bytes_of(8, 0));
  });
  CHECK(all.report() == "");
}

TEST_CASE("an event recorded before its group has succeeded is done too early, and caught") {
  world all(2);
  on_polled_communicator(all, [&](const member& self, int rank, std::byte* memory) {
    if (rank == 0) {
      CHECK(self.one(from(1, memory, 8)) == ncclInProgress);
      const cudaEvent_t early = new_event();
      CHECK(cudaEventRecord(early, self.stream()) == cudaSuccess);
      CHECK(cudaEventSynchronize(early) == cudaSuccess);
      CHECK(all.read(memory, 8) == std::vector<std::byte>(8, std::byte{0xDB}));
    } else {
      CHECK(self.one(to(0, memory, 8)) == ncclInProgress);
    }
    CHECK(self.settle() == ncclSuccess);
    CHECK(self.synchronize() == cudaSuccess);
  });
  CHECK(all.violations().size() == 1);
  CHECK(all.broke(rules::record_after_success));
}

TEST_CASE("a call on a communicator in progress is refused and caught") {
  world all(2);
  on_polled_communicator(all, [&](const member& self, int rank, std::byte* memory) {
    CHECK(self.one(rank == 0 ? to(1, memory, 8) : from(0, memory, 8)) == ncclInProgress);
    int count = 0;
    CHECK(ncclCommCount(self.communicator(), &count) == ncclInvalidArgument);
    CHECK(self.one(to(rank, memory, 8)) == ncclInvalidArgument);
    CHECK(ncclCommFinalize(self.communicator()) == ncclInvalidArgument);
    CHECK(self.settle() == ncclSuccess);
    CHECK(self.synchronize() == cudaSuccess);
  });
  CHECK(all.violations().size() == 6);
  CHECK(all.broke(rules::ready_communicator));
}

TEST_CASE("a group that is started before another of the device has succeeded is refused and caught") {
  world all(1);
  all.bind(0);
  const member first(new_id(), 1, 0, mode::polled);
  CHECK(first.settle() == ncclSuccess);
  const member second(new_id(), 1, 0);
  std::byte* memory = device_memory(16);
  const std::vector<part> parts{to(0, memory, 8), from(0, memory + 8, 8)};
  CHECK(first.group(parts) == ncclInProgress);
  CHECK(second.group(parts) == ncclInvalidUsage);
  CHECK(all.broke(rules::one_group_at_a_time));
}

TEST_CASE("two threads that make NCCL calls for one device are caught, unless the test hands it over") {
  world all(1);
  all.bind(0);
  const member self(new_id(), 1, 0);
  all.hand_over(0);
  std::thread([&] {
    all.bind(0);
    self.group({});
    std::byte* memory = device_memory(8);
    self.group({to(0, memory, 4), from(0, memory + 4, 4)});
  }).join();
  CHECK(all.report() == "");
  self.destroy();
  CHECK(all.broke(rules::one_thread_per_device));
}

TEST_CASE("a device that changes hands while a kernel is on it is caught") {
  world all(1);
  all.bind(0);
  const member self(new_id(), 1, 0);
  std::byte* memory = device_memory(8);
  all.hold(0);
  CHECK(self.group({to(0, memory, 4), from(0, memory + 4, 4)}) == ncclSuccess);
  all.hand_over(0);
  CHECK(all.broke(rules::handed_over_at_rest));
  all.release(0);
  self.destroy();
  CHECK(all.violations().size() == 1);
}

TEST_CASE("unique ids are counted until all ranks have come, and are good for one communicator") {
  world all(2);
  const ncclUniqueId id = new_id();
  new_id();
  CHECK(all.unredeemed_ids() == 2);
  all.run([&](int rank) { member(id, 2, rank).destroy(); });
  CHECK(all.unredeemed_ids() == 1);
  CHECK(all.leftovers() == "1 unredeemed ids\n");
  CHECK(all.report() == "");
  all.bind(0);
  all.hand_over(0);
  CHECK(member(id, 2, 0).created() == ncclInvalidUsage);
  CHECK(member(ncclUniqueId{}, 2, 0).created() == ncclInvalidArgument);
  CHECK(all.violations().size() == 2);
  CHECK(all.broke(rules::fresh_ids));
}

TEST_CASE("two ranks of a communicator on one device are refused and caught") {
  world all(2);
  all.bind(0);
  const ncclUniqueId id = new_id();
  CHECK(member(id, 2, 0, mode::polled).created() == ncclInProgress);
  CHECK(member(id, 2, 1, mode::polled).created() == ncclInvalidUsage);
  CHECK(all.broke(rules::unique_devices));
}

TEST_CASE("finalizing waits for the other ranks") {
  world all(2);
  std::latch seen(1);
  on_polled_communicator(all, [&](const member& self, int rank, std::byte*) {
    if (rank == 1) seen.wait();
    CHECK(ncclCommFinalize(self.communicator()) == ncclInProgress);
    if (rank == 0) {
      for (int i = 0; i < 20; ++i) CHECK(self.poll() == ncclInProgress);
      seen.count_down();
    }
    CHECK(self.settle() == ncclSuccess);
    CHECK(ncclCommDestroy(self.communicator()) == ncclSuccess);
  });
  CHECK(all.report() == "");
}

TEST_CASE("a communicator in error is aborted; destroying it frees nothing, and is caught") {
  world all(1);
  all.bind(0);
  const member self(new_id(), 1, 0);
  all.fail_communicators(0, ncclRemoteError);
  CHECK(self.poll() == ncclRemoteError);
  CHECK(self.poll() == ncclRemoteError);
  CHECK(all.report() == "");
  CHECK(ncclCommDestroy(self.communicator()) == ncclRemoteError);
  CHECK(all.broke(rules::abort_after_error));
  CHECK(all.leftovers().find("1 communicators") != std::string::npos);
  CHECK(ncclCommAbort(self.communicator()) == ncclSuccess);
  CHECK(all.leftovers().find("communicators") == std::string::npos);
}

TEST_CASE("aborting ends the kernels of this rank and leaves those of its partner waiting") {
  world all(2, {.hang_limit = std::chrono::milliseconds(200)});
  const ncclUniqueId id = new_id();
  std::barrier together(2);
  all.run([&](int rank) {
    const member self(id, 2, rank);
    std::byte* memory = device_memory(8);
    self.one(rank == 0 ? to(1, memory, 8) : from(0, memory, 8));
    CHECK(self.synchronize() == cudaSuccess);
    together.arrive_and_wait();
    if (rank == 0) {
      self.one(to(1, memory, 8));
      CHECK(cudaStreamQuery(self.stream()) == cudaErrorNotReady);
      CHECK(ncclCommAbort(self.communicator()) == ncclSuccess);
      CHECK(self.synchronize() == cudaSuccess);
    }
    together.arrive_and_wait();
    if (rank == 1) {
      self.one(from(0, memory, 8));
      CHECK(cudaStreamQuery(self.stream()) == cudaErrorNotReady);
      CHECK(self.poll() == ncclSuccess);  // nobody tells it
      CHECK(ncclCommAbort(self.communicator()) == ncclSuccess);
      CHECK(self.synchronize() == cudaSuccess);
    }
  });
  CHECK(all.report() == "");
}

TEST_CASE("a revoked communicator stops and can be destroyed, but not finalized or used") {
  world all(2);
  on_polled_communicator(all, [&](const member& self, int rank, std::byte* memory) {
    if (rank == 0) {
      CHECK(ncclCommRevoke(self.communicator(), NCCL_REVOKE_DEFAULT) == ncclInProgress);
      CHECK(self.settle() == ncclSuccess);
      CHECK(all.report() == "");
      CHECK(ncclCommFinalize(self.communicator()) == ncclInvalidUsage);
      CHECK(self.one(to(1, memory, 8)) == ncclInvalidUsage);
      CHECK(all.violations().size() == 2);
      CHECK(ncclCommDestroy(self.communicator()) == ncclSuccess);
    }
  });
  CHECK(all.broke(rules::finalize_after_revoke));
}

}  // namespace
