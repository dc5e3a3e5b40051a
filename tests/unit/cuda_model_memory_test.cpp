// SPDX-License-Identifier: Apache-2.0
// Memory of the strict model, and what may not be done to it.
#include "cuda_model_ranks.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <latch>
#include <thread>

namespace {

using namespace cuda_model_test;
using cuda_model::world;
namespace rules = cuda_model::rules;

/// Whether the CPU may read there: the kernel looks on our behalf.
bool is_readable(const std::byte* memory) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const bool readable = ::write(ends[1], memory, 1) == 1;
  CHECK((readable || errno == EFAULT));
  ::close(ends[0]);
  ::close(ends[1]);
  return readable;
}

TEST_CASE("the CPU cannot reach device memory, and can reach pinned memory") {
  world all(1);
  all.bind(0);
  CHECK_FALSE(is_readable(device_memory(8)));
  CHECK(is_readable(pinned_memory(8)));
}

TEST_CASE("pointers say what they are") {
  world all(2);
  all.bind(1);
  cudaPointerAttributes about{};
  std::byte* device = device_memory(8);
  CHECK(cudaPointerGetAttributes(&about, device + 4) == cudaSuccess);
  CHECK(about.type == cudaMemoryTypeDevice);
  CHECK(about.device == 1);
  CHECK(cudaPointerGetAttributes(&about, pinned_memory(8)) == cudaSuccess);
  CHECK(about.type == cudaMemoryTypeHost);
  CHECK(cudaPointerGetAttributes(&about, &about) == cudaSuccess);
  CHECK(about.type == cudaMemoryTypeUnregistered);
}

TEST_CASE("memory runs out, is given back, and is poisoned in between") {
  world all(1, {.device_bytes = 1 << 20});
  all.bind(0);
  void* memory = nullptr;
  CHECK(cudaMalloc(&memory, (1 << 20) + 1) == cudaErrorMemoryAllocation);
  std::byte* most = device_memory(1 << 20);
  CHECK(cudaMalloc(&memory, 1) == cudaErrorMemoryAllocation);
  CHECK(all.read(most, 2) == std::vector<std::byte>(2, std::byte{0xDB}));
  CHECK(cudaFree(most) == cudaSuccess);
  CHECK(cudaMalloc(&memory, 1) == cudaSuccess);
  CHECK(all.report() == "");
  CHECK(cudaFree(most + 64) == cudaErrorInvalidValue);
  CHECK(all.broke(rules::valid_arguments));
}

TEST_CASE("copies go where they say, and pageable memory makes them wait") {
  world all(1);
  all.bind(0);
  const cudaStream_t stream = new_stream();
  std::byte* device = device_memory(64);
  auto data = bytes_of(64, 9);
  CHECK(cudaMemcpyAsync(device, data.data(), 64, cudaMemcpyDeviceToHost, stream) == cudaErrorInvalidMemcpyDirection);
  CHECK(cudaMemcpyAsync(device, data.data(), 64, cudaMemcpyHostToDevice, stream) == cudaSuccess);
  CHECK(cudaStreamQuery(stream) == cudaSuccess);
  CHECK(all.read(device, 64) == data);
  CHECK(all.report() == "");
  CHECK(cudaMemcpyAsync(device, data.data(), 65, cudaMemcpyDefault, stream) == cudaErrorInvalidValue);
  CHECK(all.broke(rules::valid_arguments));
}

TEST_CASE("NCCL takes neither pageable nor freed memory, nor more than was allocated") {
  world all(1);
  all.bind(0);
  const member self(new_id(), 1, 0);
  std::vector<std::byte> pageable(8);
  std::byte* device = device_memory(8);
  CHECK(self.one(to(0, pageable.data(), 8)) == ncclInvalidArgument);
  CHECK(self.one(to(0, device + 1, 8)) == ncclInvalidArgument);
  CHECK(cudaFree(device) == cudaSuccess);
  CHECK(self.one(to(0, device, 8)) == ncclInvalidArgument);
  CHECK(all.violations().size() == 3);
  CHECK(all.broke(rules::accessible_memory));
}

/// Rank 0 sends 8 bytes to rank 1 and meddles while the transfer waits; rank 1 is held until it has.
template <class Meddle>
void meddle_with_transfer(world& all, bool receiving, Meddle meddle) {
  const ncclUniqueId id = new_id();
  std::latch connected(2);
  std::latch meddled(1);
  all.run([&](int rank) {
    const member self(id, 2, rank);
    std::byte* memory = pinned_memory(8);
    const auto operation = [&] {
      return (rank == 0) == receiving ? from(1 - rank, memory, 8) : to(1 - rank, memory, 8);
    };
    self.one(operation());
    CHECK(self.synchronize() == cudaSuccess);
    connected.arrive_and_wait();
    if (rank == 1) meddled.wait();
    self.one(operation());
    if (rank == 0) {
      meddle(self, memory);
      meddled.count_down();
    }
    CHECK(self.synchronize() == cudaSuccess);
  });
}

TEST_CASE("writing memory that is being sent is caught") {
  world all(2);
  meddle_with_transfer(all, false, [](const member&, std::byte* memory) { memory[3] = std::byte{1}; });
  CAPTURE(all.report());
  CHECK(all.violations().size() == 1);
  CHECK(all.broke(rules::untouched_memory));
}

TEST_CASE("writing memory that is being received into is caught, and reading it finds poison") {
  world all(2);
  meddle_with_transfer(all, true, [](const member&, std::byte* memory) {
    CHECK(memory[0] == std::byte{0xDB});
    memory[3] = std::byte{1};
  });
  CAPTURE(all.report());
  CHECK(all.violations().size() == 1);
  CHECK(all.broke(rules::untouched_memory));
}

TEST_CASE("a copy from memory that is being received into is caught") {
  world all(2);
  meddle_with_transfer(all, true, [](const member&, std::byte* memory) {
    const cudaStream_t other = new_stream();
    CHECK(cudaMemsetAsync(memory, 0, 8, other) == cudaSuccess);
    CHECK(cudaStreamSynchronize(other) == cudaSuccess);
  });
  CAPTURE(all.report());
  CHECK(all.broke(rules::untouched_memory));
}

TEST_CASE("freeing memory under a transfer is caught, and hangs behind its kernel") {
  world all(2);
  meddle_with_transfer(all, false, [](const member&, std::byte* memory) { cudaFreeHost(memory); });
  CAPTURE(all.report());
  CHECK(all.broke(rules::kept_memory));
  CHECK(all.broke(rules::preallocated_memory));
  CHECK(all.broke(rules::progress));
}

TEST_CASE("allocating beside a waiting kernel is caught") {
  world all(2);
  all.hold(0);
  const ncclUniqueId id = new_id();
  all.run([&](int rank) {
    std::byte* memory = device_memory(8);
    const member self(id, 2, rank);
    self.one(rank == 0 ? to(1, memory, 8) : from(0, memory, 8));
    if (rank == 1) {
      while (all.calls("cudaMalloc") < 3) std::this_thread::yield();
      all.release(0);
      CHECK(self.synchronize() == cudaSuccess);
      return;
    }
    void* more = nullptr;
    CHECK(cudaMalloc(&more, 8) == cudaSuccess);
    CHECK(cudaStreamQuery(self.stream()) == cudaSuccess);  // it has waited for the kernel
  });
  CHECK(all.broke(rules::preallocated_memory));
}

}  // namespace
