// SPDX-License-Identifier: Apache-2.0
// Transfers over the strict model of NCCL: right ones pass, and what NCCL leaves undefined is found.
#include "cuda_model_ranks.hpp"

#include <thread>

namespace {

using namespace cuda_model_test;
using cuda_model::options;
using cuda_model::world;
namespace rules = cuda_model::rules;

TEST_CASE("ranks that exchange in groups get each other's bytes") {
  for (const int size : {2, 4}) {
    CAPTURE(size);
    world all(size);
    const ncclUniqueId id = new_id();
    all.run([&](int rank) {
      const member self(id, size, rank);
      REQUIRE(self.created() == ncclSuccess);
      std::vector<part> parts;
      for (int peer = 0; peer < size; ++peer) {
        std::byte* outgoing = device_memory(1000);
        all.write(outgoing, bytes_of(1000, 10 * rank + peer));
        parts.push_back(to(peer, outgoing, 1000));
        parts.push_back(from(peer, device_memory(1000), 1000));
      }
      for (int round = 0; round < 3; ++round) CHECK(self.group(parts) == ncclSuccess);
      CHECK(self.synchronize() == cudaSuccess);
      for (const part& each : parts) {
        if (!each.sending) CHECK(all.read(each.memory, 1000) == bytes_of(1000, 10 * each.peer + rank));
        CHECK(cudaFree(each.memory) == cudaSuccess);
      }
      self.destroy();
    });
    CHECK(all.report() == "");
    CHECK(all.leftovers() == "");
  }
}

TEST_CASE("pair communicators progress without each other") {
  world all(3);
  const ncclUniqueId first = new_id();
  const ncclUniqueId second = new_id();
  all.run([&](int rank) {
    std::byte* memory = device_memory(64);
    if (rank == 0) {
      all.write(memory, bytes_of(64, 5));
      const member with_one(first, 2, 0);
      const member with_two(second, 2, 0);
      CHECK(with_one.one(to(1, memory, 64)) == ncclSuccess);
      CHECK(with_two.one(to(1, memory, 64)) == ncclSuccess);
      with_one.destroy();
      with_two.destroy();
    } else {
      const member self(rank == 1 ? first : second, 2, 1);
      CHECK(self.one(from(0, memory, 64)) == ncclSuccess);
      CHECK(self.synchronize() == cudaSuccess);
      CHECK(all.read(memory, 64) == bytes_of(64, 5));
      self.destroy();
    }
    CHECK(cudaFree(memory) == cudaSuccess);
  });
  CHECK(all.report() == "");
  CHECK(all.leftovers() == "");
}

TEST_CASE("host memory is staged through pinned memory, in stream order") {
  world all(2);
  const ncclUniqueId id = new_id();
  all.run([&](int rank) {
    const member self(id, 2, rank);
    std::byte* pinned = pinned_memory(256);
    std::byte* device = device_memory(256);
    if (rank == 0) {
      const auto data = bytes_of(256, 3);
      std::copy(data.begin(), data.end(), pinned);
      CHECK(cudaMemcpyAsync(device, pinned, 256, cudaMemcpyHostToDevice, self.stream()) == cudaSuccess);
      CHECK(self.group({to(1, device, 128), from(1, pinned + 128, 128)}) == ncclSuccess);
    } else {
      CHECK(self.group({to(0, pinned, 128), from(0, device, 128)}) == ncclSuccess);
      CHECK(cudaMemcpyAsync(pinned + 128, device, 128, cudaMemcpyDeviceToHost, self.stream()) == cudaSuccess);
    }
    CHECK(self.synchronize() == cudaSuccess);
    const auto expected = bytes_of(128, 3);
    if (rank == 1) CHECK(std::equal(expected.begin(), expected.end(), pinned + 128));
    if (rank == 0) CHECK(*(pinned + 200) == std::byte{0xDB});  // what fresh memory holds
    self.destroy();
    CHECK(cudaFree(device) == cudaSuccess);
    CHECK(cudaFreeHost(pinned) == cudaSuccess);
  });
  CHECK(all.report() == "");
}

TEST_CASE("a zero-byte send waits for its receive") {
  world all(2);
  all.hold(1);
  const ncclUniqueId id = new_id();
  std::barrier looked(2);
  all.run([&](int rank) {
    const member self(id, 2, rank);
    CHECK(self.one(rank == 0 ? to(1, nullptr, 0) : from(0, nullptr, 0)) == ncclSuccess);
    if (rank == 0) CHECK(cudaStreamQuery(self.stream()) == cudaErrorNotReady);
    looked.arrive_and_wait();
    if (rank == 1) all.release(1);
    self.destroy();
  });
  CHECK(all.report() == "");
}

/// What two ranks do on one communicator, each its operations, and the rule that this breaks.
template <class RankMain>
void expect_broken(const cuda_model::rule& rule, RankMain rank_main, int size = 2) {
  world all(size);
  const ncclUniqueId id = new_id();
  all.run([&](int rank) {
    const member self(id, size, rank);
    rank_main(self, rank);
    CHECK(self.synchronize() == cudaSuccess);
  });
  CAPTURE(all.report());
  CHECK(all.broke(rule));
}

TEST_CASE("ranks that send to each other without a group are caught") {
  expect_broken(rules::grouped_exchange, [](const member& self, int rank) {
    self.one(to(1 - rank, device_memory(8), 8));
    self.one(from(1 - rank, device_memory(8), 8));
  });
}

TEST_CASE("groups of different shapes are caught") {
  expect_broken(rules::mirrored_groups, [](const member& self, int rank) {
    std::byte* memory = device_memory(16);
    if (rank == 0) {
      self.group({to(1, memory, 8), from(1, memory + 8, 8)});
    } else {
      self.one(from(0, memory, 8));
      self.one(to(0, memory + 8, 8));
    }
  });
}

TEST_CASE("a send and a receive of different sizes or types are caught") {
  expect_broken(rules::equal_sizes, [](const member& self, int rank) {
    self.one(rank == 0 ? to(1, device_memory(16), 16) : from(0, device_memory(16), 8));
  });
  expect_broken(rules::equal_sizes, [](const member& self, int rank) {
    if (rank == 0) ncclSend(device_memory(16), 4, ncclFloat, 1, self.communicator(), self.stream());
    if (rank == 1) ncclRecv(device_memory(16), 4, ncclInt, 0, self.communicator(), self.stream());
  });
}

TEST_CASE("groups that NCCL may cut differently on each rank are caught") {
  expect_broken(rules::narrow_groups, [](const member& self, int rank) {
    std::byte* memory = device_memory(16);
    const auto operation = [&](std::size_t at) { return rank == 0 ? to(1, memory + at, 8) : from(0, memory + at, 8); };
    self.group({operation(0), operation(8)});
  });
  expect_broken(
      rules::narrow_groups,
      [](const member& self, int rank) {
        std::byte* memory = device_memory(1);
        std::vector<part> parts;
        for (int peer = 1; peer < 10; ++peer) parts.push_back(to(peer, memory, 1));
        if (rank != 0) parts = {from(0, memory, 1)};
        self.group(parts);
      },
      10);
}

TEST_CASE("a send to oneself without its receive in the group is refused") {
  world all(1);
  all.bind(0);
  const member self(new_id(), 1, 0);
  CHECK(self.group({to(0, device_memory(4), 4)}) == ncclInvalidUsage);
  CHECK(all.broke(rules::self_exchange));
}

TEST_CASE("a group with operations of two communicators is refused") {
  world all(1);
  all.bind(0);
  const member first(new_id(), 1, 0);
  const member second(new_id(), 1, 0);
  ncclGroupStart();
  for (const member* each : {&first, &second}) {
    each->one(to(0, device_memory(4), 4));
    each->one(from(0, device_memory(4), 4));
  }
  CHECK(ncclGroupEnd() == ncclInvalidUsage);
  CHECK(all.broke(rules::one_communicator));
}

TEST_CASE("a thread that ends within a group is caught, and the group of another is not closed by it") {
  world all(1);
  std::thread([] { ncclGroupStart(); }).join();
  CHECK(all.broke(rules::closed_groups));
  CHECK(ncclGroupEnd() == ncclInvalidUsage);
}

TEST_CASE("an operation that is refused fails its group, and nothing of that is launched") {
  world all(2);
  const ncclUniqueId id = new_id();
  all.run([&](int rank) {
    const member self(id, 2, rank);
    if (rank == 0) CHECK(self.group({to(1, device_memory(8), 8), to(5, device_memory(8), 8)}) == ncclInvalidArgument);
    CHECK(cudaStreamQuery(self.stream()) == cudaSuccess);
  });
  CHECK(all.broke(rules::valid_arguments));
}

}  // namespace
