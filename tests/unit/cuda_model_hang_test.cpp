// SPDX-License-Identifier: Apache-2.0
// The strict model proves that a program hangs, and lets its calls end.
#include "cuda_model_ranks.hpp"

#include <barrier>
#include <cstddef>

namespace {

using namespace cuda_model_test;
using cuda_model::world;
namespace rules = cuda_model::rules;

TEST_CASE("three ranks that wait for each other in a ring are caught") {
  world all(3);
  const ncclUniqueId id = new_id();
  all.run([&](int rank) {
    const member self(id, 3, rank);
    std::byte* memory = device_memory(8);
    const int next = (rank + 1) % 3;
    const int before = (rank + 2) % 3;
    // Mirrored pair by pair, and each rank starts with the send.
    self.one(to(next, memory, 8));
    self.one(from(before, memory, 8));
    self.synchronize();
  });
  CAPTURE(all.report());
  CHECK(all.broke(rules::progress));
  CHECK(all.violations().size() == 1);
}

/// A communicator on which every pair has met before.
member connected_member(const ncclUniqueId& id, int size, int rank, std::byte* memory) {
  member self(id, size, rank);
  std::vector<part> parts;
  for (int peer = 0; peer < size; ++peer) {
    if (peer == rank) continue;
    parts.push_back(to(peer, memory, 8));
    parts.push_back(from(peer, memory + std::ptrdiff_t{8} * (peer + 1), 8));
  }
  self.group(parts);
  CHECK(self.synchronize() == cudaSuccess);
  return self;
}

TEST_CASE("the queue of a communicator is one, whatever the streams") {
  world all(3);
  const ncclUniqueId id = new_id();
  all.run([&](int rank) {
    std::byte* memory = device_memory(64);
    const member self = connected_member(id, 3, rank, memory);
    const int next = (rank + 1) % 3;
    const int before = (rank + 2) % 3;
    ncclSend(memory, 8, ncclChar, next, self.communicator(), self.stream());
    ncclRecv(memory + 8, 8, ncclChar, before, self.communicator(), new_stream());
    self.synchronize();
  });
  CAPTURE(all.report());
  CHECK(all.broke(rules::progress));
}

TEST_CASE("more communicators at work than fit on the device are caught") {
  world all(2, {.resident_kernels = 1});
  const ncclUniqueId first = new_id();
  const ncclUniqueId second = new_id();
  std::barrier together(2);
  all.run([&](int rank) {
    std::byte* memory = device_memory(64);
    const member one = connected_member(first, 2, rank, memory);
    const member two = connected_member(second, 2, rank, memory);
    together.arrive_and_wait();
    CHECK(all.report() == "");
    together.arrive_and_wait();
    const auto use = [&](const member& each) { each.one(rank == 0 ? to(1, memory, 8) : from(0, memory, 8)); };
    use(rank == 0 ? one : two);
    use(rank == 0 ? two : one);
    one.synchronize();
    two.synchronize();
  });
  CAPTURE(all.report());
  CHECK(all.broke(rules::residency));
  CHECK(all.broke(rules::progress));
}

TEST_CASE("the same order over more communicators is no hang where they fit") {
  world all(2, {.resident_kernels = 2});
  const ncclUniqueId first = new_id();
  const ncclUniqueId second = new_id();
  all.run([&](int rank) {
    std::byte* memory = device_memory(64);
    const member one = connected_member(first, 2, rank, memory);
    const member two = connected_member(second, 2, rank, memory);
    const auto use = [&](const member& each) { each.one(rank == 0 ? to(1, memory, 8) : from(0, memory, 8)); };
    use(rank == 0 ? one : two);
    use(rank == 0 ? two : one);
    CHECK(one.synchronize() == cudaSuccess);
    CHECK(two.synchronize() == cudaSuccess);
  });
  CHECK(all.report() == "");
}

TEST_CASE("ranks that create communicators in different orders are caught") {
  world all(2);
  const ncclUniqueId first = new_id();
  const ncclUniqueId second = new_id();
  all.run([&](int rank) {
    const member one(rank == 0 ? first : second, 2, rank);
    CHECK(one.created() != ncclSuccess);
    const member two(rank == 0 ? second : first, 2, rank);
  });
  CAPTURE(all.report());
  CHECK(all.broke(rules::progress));
}

TEST_CASE("creating a communicator behind a kernel that waits for the same rank is caught") {
  for (const bool synchronizes : {true, false}) {
    CAPTURE(synchronizes);
    world all(2, {.set_up_synchronizes = synchronizes});
    const ncclUniqueId first = new_id();
    const ncclUniqueId second = new_id();
    all.run([&](int rank) {
      std::byte* memory = device_memory(64);
      const member one = connected_member(first, 2, rank, memory);
      if (rank == 0) one.one(to(1, memory, 8));
      const member two(second, 2, rank);
      if (rank == 1) one.one(from(0, memory, 8));
      one.synchronize();
    });
    CHECK(all.broke(rules::progress) == synchronizes);
  }
}

TEST_CASE("the first use of a connection blocks the host until the partner comes") {
  world all(2);
  const ncclUniqueId id = new_id();
  all.run([&](int rank) {
    std::byte* memory = device_memory(64);
    const member self(id, 2, rank);
    if (rank == 0) CHECK(self.one(to(1, memory, 8)) != ncclSuccess);  // rank 1 never calls
  });
  CAPTURE(all.report());
  CHECK(all.broke(rules::progress));
}

TEST_CASE("what may still come is given up after the limit") {
  world all(2, {.hang_limit = std::chrono::milliseconds(50)});
  all.bind(0);
  CHECK(member(new_id(), 2, 0).created() != ncclSuccess);
  CHECK(all.broke(rules::progress));
}

}  // namespace
