// SPDX-License-Identifier: Apache-2.0
// Failures that tests ask the strict model for.
#include "cuda_model_ranks.hpp"

#include <atomic>
#include <stdexcept>
#include <thread>

namespace {

using namespace cuda_model_test;
using cuda_model::effect;
using cuda_model::world;
using mode = member::mode;

TEST_CASE("any call can be made to fail, at the occurrence and rank that the test says") {
  world all(2);
  all.inject({.call = "cudaMalloc", .rank = 1, .occurrence = 2, .code = cudaErrorMemoryAllocation});
  void* memory = nullptr;
  all.bind(0);
  for (int i = 0; i < 3; ++i) CHECK(cudaMalloc(&memory, 8) == cudaSuccess);
  all.bind(1);
  CHECK(cudaMalloc(&memory, 8) == cudaSuccess);
  CHECK(cudaMalloc(&memory, 8) == cudaErrorMemoryAllocation);
  CHECK(cudaGetLastError() == cudaErrorMemoryAllocation);
  CHECK(cudaMalloc(&memory, 8) == cudaSuccess);
  CHECK_THROWS_AS(all.inject({.call = "cudaMallocs"}), std::invalid_argument);
  CHECK(all.report() == "");
  CHECK(cuda_model::functions().size() == 37);
}

TEST_CASE("a creation that fails for want of a device leaves a group open, as NCCL does") {
  world all(1);
  all.bind(0);
  all.inject({.call = "ncclCommInitRankConfig", .code = ncclUnhandledCudaError});
  CHECK(member(new_id(), 1, 0).created() == ncclUnhandledCudaError);
  CHECK(ncclGroupEnd() == ncclSuccess);
  CHECK(ncclGroupEnd() == ncclInvalidUsage);
  CHECK(all.report() == "");
}

TEST_CASE("a group that fails at its end or at an operation is closed, and nothing is launched") {
  for (const char* call : {"ncclGroupEnd", "ncclSend"}) {
    CAPTURE(call);
    world all(1);
    all.bind(0);
    const member self(new_id(), 1, 0);
    std::byte* memory = device_memory(16);
    const std::vector<part> parts{to(0, memory, 8), from(0, memory + 8, 8)};
    all.inject({.call = call, .code = ncclSystemError});
    CHECK(self.group(parts) == ncclSystemError);
    CHECK(cudaStreamQuery(self.stream()) == cudaSuccess);
    CHECK(self.group(parts) == ncclSuccess);
    CHECK(self.synchronize() == cudaSuccess);
    CHECK(ncclGroupEnd() == ncclInvalidUsage);
    CHECK(all.report() == "");
  }
}

TEST_CASE("a call can stay in progress for as many polls as the test says, or for ever") {
  world all(1, {.in_progress_polls = 0});
  all.bind(0);
  all.inject({.call = "ncclCommInitRankConfig", .what = effect::lasts, .polls = 100});
  const member slow(new_id(), 1, 0, mode::polled);
  for (int i = 0; i < 100; ++i) CHECK(slow.poll() == ncclInProgress);
  CHECK(slow.poll() == ncclSuccess);

  all.inject({.call = "ncclCommInitRankConfig", .what = effect::lasts});
  const member stuck(new_id(), 1, 0, mode::polled);
  for (int i = 0; i < 1000; ++i) CHECK(stuck.poll() == ncclInProgress);
  CHECK(ncclCommAbort(stuck.communicator()) == ncclSuccess);

  std::byte* memory = device_memory(16);
  all.inject({.call = "ncclGroupEnd", .what = effect::lasts});
  CHECK(slow.group({to(0, memory, 8), from(0, memory + 8, 8)}) == ncclInProgress);
  for (int i = 0; i < 1000; ++i) CHECK(slow.poll() == ncclInProgress);
  all.release_lasting();
  CHECK(slow.settle() == ncclSuccess);
  CHECK(all.report() == "");
}

TEST_CASE("an abort can hang until the test releases it") {
  world all(1);
  all.bind(0);
  const member self(new_id(), 1, 0);
  all.inject({.call = "ncclCommAbort", .what = effect::lasts});
  std::atomic<bool> aborted = false;
  std::thread aborter([&] {
    ncclCommAbort(self.communicator());
    aborted = true;
  });
  while (all.calls("ncclCommAbort") == 0) std::this_thread::yield();
  CHECK(self.poll() == ncclSuccess);
  CHECK_FALSE(aborted);
  all.release_lasting();
  aborter.join();
  CHECK(all.report() == "");
}

TEST_CASE("an error can come after the call that causes it has succeeded") {
  world all(1);
  all.bind(0);
  const member self(new_id(), 1, 0);
  std::byte* memory = device_memory(16);
  all.inject({.call = "ncclGroupEnd", .what = effect::fails_later, .code = ncclRemoteError});
  CHECK(self.group({to(0, memory, 8), from(0, memory + 8, 8)}) == ncclSuccess);
  CHECK(self.poll() == ncclRemoteError);
  CHECK(self.group({to(0, memory, 8), from(0, memory + 8, 8)}) == ncclRemoteError);
  CHECK(ncclCommAbort(self.communicator()) == ncclSuccess);
  CHECK(self.synchronize() == cudaSuccess);
  CHECK(all.report() == "");

  all.inject({.call = "cudaEventRecord", .what = effect::fails_later, .code = cudaErrorLaunchFailure});
  const cudaEvent_t event = new_event();
  CHECK(cudaEventRecord(event, self.stream()) == cudaSuccess);
  CHECK(cudaEventQuery(event) == cudaErrorLaunchFailure);
}

TEST_CASE("a rank that dies leaves its partners waiting until they abort") {
  world all(2);
  const ncclUniqueId id = new_id();
  all.run([&](int rank) {
    const member self(id, 2, rank);
    if (rank == 1) return all.lose(1);
    std::byte* memory = device_memory(8);
    std::thread watchdog([&] {
      while (all.calls("ncclSend") == 0) std::this_thread::yield();
      CHECK(ncclCommAbort(self.communicator()) == ncclSuccess);
    });
    CHECK(self.one(to(1, memory, 8)) != ncclSuccess);
    watchdog.join();
  });
  CHECK(all.report() == "");
}

}  // namespace
