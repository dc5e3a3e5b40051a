// SPDX-License-Identifier: Apache-2.0
// Small messages take no memory from the heap once there were a few: neither do the engines, nor the coroutines that
// await them, nor the links.
#include "ranks.hpp"
#include "serializers_test_allocations.hpp"

#include <weft/engine/objects.hpp>
#include <weft/serializers/cereal.hpp>

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace asio = boost::asio;
using weft::testing::run_ranks;

namespace {

constexpr int rounds = 1'000;

struct request {
  std::array<int, 3> numbers{};
  std::string text = "a text that has thirty-two bytes";
  std::vector<double> values = std::vector<double>(16);

  template <class Archive>
  void serialize(Archive& archive) {
    archive(numbers, text, values);
  }
};

/// What all ranks together took from the heap during the second half of the rounds.
template <class Send, class Receive>
std::size_t taken_by(std::chrono::microseconds spin, Send send, Receive receive) {
  std::size_t taken = 0;
  const auto body = [&](weft::communicator comm) -> asio::awaitable<void> {
    const int other = 1 - comm.rank();
    // One round more: the end of a rank does take memory.
    for (int i = 0; i <= 2 * rounds; ++i) {
      if (comm.rank() == 0 && i == rounds) forget_allocations();
      if (comm.rank() == 0) co_await send(comm, weft::to(other, 1));
      co_await receive(comm, weft::from(other, 1));
      if (comm.rank() == 0 && i == 2 * rounds - 1) taken = allocation_count();
      if (comm.rank() == 1) co_await send(comm, weft::to(other, 1));
    }
  };
  run_ranks(2, body, {.adjust = [spin](weft::engine_options& options) { options.spin = spin; }});
  return taken;
}

constexpr std::array waits{std::chrono::microseconds(0), std::chrono::microseconds(20)};

}  // namespace

TEST_CASE("small buffers that go to and fro take no memory") {
  for (const auto spin : waits) {
    CAPTURE(spin.count());
    std::array<std::vector<std::byte>, 2> out{std::vector<std::byte>(64), std::vector<std::byte>(64)};
    auto in = out;
    const auto own = [](auto& of, const weft::communicator& comm) -> auto& {
      return of[static_cast<std::size_t>(comm.rank())];
    };
    const std::size_t taken = taken_by(
        spin, [&](const weft::communicator& comm, auto where) { return comm.send(own(out, comm), where); },
        [&](const weft::communicator& comm, auto where) { return comm.recv(own(in, comm), where); });
    CHECK(taken == 0);
  }
}

TEST_CASE("small objects that go to and fro take no memory") {
  for (const auto spin : waits) {
    CAPTURE(spin.count());
    const request sent;
    std::array<request, 2> got;
    const std::size_t taken = taken_by(
        spin, [&](const weft::communicator& comm, auto where) { return weft::send_objects(comm, where, sent); },
        [&](const weft::communicator& comm, auto where) {
          return weft::recv_objects_into(comm, where, got[static_cast<std::size_t>(comm.rank())]);
        });
    CHECK(taken == 0);
  }
}
