// SPDX-License-Identifier: Apache-2.0
// Groups that are split off.
#include "ranks.hpp"

#include <weft/engine/objects.hpp>

#include <doctest/doctest.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <array>
#include <atomic>
#include <optional>
#include <string>
#include <vector>

namespace asio = boost::asio;
using boost::system::error_code;
using weft::errc;
using weft::testing::run_ranks;

namespace {

constexpr auto with_code = asio::as_tuple(asio::use_awaitable);
constexpr std::array routes{weft::route::inlined, weft::route::host, weft::route::device, weft::route::pair};

/// Every member sends its rank, plus `offset`, to its right neighbour, by each route.
asio::awaitable<void> pass_around(weft::communicator comm, int offset) {
  const int right = (comm.rank() + 1) % comm.size();
  const int left = (comm.rank() + comm.size() - 1) % comm.size();
  for (const auto route : routes) {
    const int mine = comm.rank() + offset;
    int got = -1;
    weft::batch both;
    both.send(std::span(&mine, 1), weft::to(right, 1).via(route))
        .recv(std::span(&got, 1), weft::from(weft::any_source, 1));
    auto result = co_await comm.batch(both);
    CHECK(got == left + offset);
    CHECK(result.entries[1].envelope.source == left);
    CHECK(result.entries[0].details.peer == right);
  }
}

asio::awaitable<void> turn() {
  co_await asio::post(asio::use_awaitable);
}

}  // namespace

TEST_CASE("a group that was split off has ranks of its own, and all routes work in it") {
  const auto body = [](weft::communicator world) -> asio::awaitable<void> {
    // Odd and even ranks, the highest first.
    weft::communicator half = co_await world.split(world.rank() % 2, -world.rank());
    CHECK(half.size() == (world.rank() % 2 == 0 ? 3 : 2));
    CHECK(half.rank() == (world.rank() % 2 == 0 ? 2 - world.rank() / 2 : 1 - world.rank() / 2));
    co_await pass_around(half, 100 * (world.rank() % 2));
    CHECK(half.stats().group_communicators == 1);
  };
  run_ranks(5, body);
}

TEST_CASE("parent, child and grandchild are in use at once and do not hear each other") {
  const auto body = [](weft::communicator world) -> asio::awaitable<void> {
    weft::communicator child = co_await world.split(world.rank() < 3 ? 0 : 1, 0);
    weft::communicator grandchild = co_await child.split(0, -child.rank());
    CHECK(grandchild.rank() == child.size() - 1 - child.rank());

    // One message with the same tag to the same rank in each group, received in another order from any source.
    const int neighbour = (child.rank() + 1) % child.size();
    const int to_world = 1, to_child = 2, to_grandchild = 3;
    const int in_world = world.rank() < 3 ? neighbour : 3 + neighbour;
    const int in_grandchild = child.size() - 1 - neighbour;
    co_await world.send(std::span(&to_world, 1), weft::to(in_world, 5));
    co_await child.send(std::span(&to_child, 1), weft::to(neighbour, 5));
    co_await grandchild.send(std::span(&to_grandchild, 1), weft::to(in_grandchild, 5));
    int got = 0;
    const std::array<std::pair<weft::communicator, int>, 3> groups{std::pair(grandchild, 3), std::pair(world, 1),
                                                                   std::pair(child, 2)};
    for (const auto& [comm, expected] : groups) {
      co_await comm.recv(std::span(&got, 1), weft::from(weft::any_source, 5));
      CHECK(got == expected);
    }
    co_await pass_around(grandchild, 0);
    co_await pass_around(world, 0);
  };
  run_ranks(5, body);
}

TEST_CASE("many splits at once belong together in the order in which each rank asks") {
  const auto body = [](weft::communicator world) -> asio::awaitable<void> {
    std::vector<weft::communicator> made(20);
    int done = 0;
    for (int i = 0; i < 20; ++i)
      world.split(i % 3 == world.rank() ? weft::no_color : 0,
                  world.rank())([&, i](error_code code, const weft::split_communicator& comm) {
        CHECK_FALSE(code);
        made[static_cast<std::size_t>(i)] = comm;
        ++done;
      });
    while (done != 20) co_await turn();
    for (int i = 0; i < 20; ++i) {
      weft::communicator& comm = made[static_cast<std::size_t>(i)];
      CHECK(static_cast<bool>(comm) == (i % 3 != world.rank()));
      if (!comm) continue;
      CHECK(comm.size() == 2);
      const std::string mine = std::to_string(i);
      const int other = 1 - comm.rank();
      co_await weft::send_objects(comm, weft::to(other, 0), mine);
      auto [envelope, theirs] = co_await weft::recv_objects<std::string>(comm, weft::from(other, 0));
      CHECK(theirs == mine);
    }
  };
  run_ranks(3, body);
}

TEST_CASE("a rank outside of the group is named with what there is") {
  const auto body = [](weft::communicator world) -> asio::awaitable<void> {
    weft::communicator half = co_await world.split(world.rank() / 2, 0);
    const int mine = 0;
    const auto beyond = weft::to(2, 1);
    auto [code, result] = co_await half.send(std::span(&mine, 1), beyond)(with_code);
    CHECK(code == errc::rank_out_of_range);
    CHECK(weft::describe(code, result.details) ==
          "send to rank 2, tag 1, 4 bytes of i32: the rank is not in the group: there are ranks 0 to 1 [starting]");
  };
  run_ranks(4, body);
}

TEST_CASE("a split with a rank that has left fails by name at all others, and other groups go on") {
  std::atomic<int> in_groups = 0;
  const auto body = [&](weft::communicator world) -> asio::awaitable<void> {
    weft::communicator low = co_await world.split(world.rank() < 2 ? 0 : 1, 0);
    ++in_groups;
    while (in_groups != 3) co_await turn();
    if (world.rank() == 2) co_return;
    auto [code, result] = co_await world.split(0, 0)(with_code);
    CHECK(code == errc::peer_left);
    CHECK(weft::describe(code, result.details) == "split: the peer has left: rank 2 of the engine's group is gone");
    co_await pass_around(low, 0);
    weft::communicator again = co_await low.split(0, 0);
    co_await pass_around(again, 0);
  };
  run_ranks(3, body);
}

TEST_CASE("a receive from any source fails once all others of its group are gone") {
  std::atomic<bool> posted = false;
  const auto body = [&](weft::communicator world) -> asio::awaitable<void> {
    weft::communicator mine = co_await world.split(world.rank() == 2 ? 1 : 0, 0);
    if (world.rank() == 1) {
      while (!posted) co_await turn();
      co_return;
    }
    if (world.rank() == 2) co_return;
    int never = 0;
    auto waiting = mine.recv(std::span(&never, 1), weft::from(weft::any_source, 1));
    std::optional<error_code> ended;
    std::move(waiting)([&](error_code code, const weft::received&) { ended = code; });
    posted = true;
    while (!ended) co_await turn();
    CHECK(*ended == errc::peer_left);
  };
  run_ranks(3, body);
}

TEST_CASE("who cancels its wait for a split is told at once, and the others have their group") {
  const auto body = [](weft::communicator world) -> asio::awaitable<void> {
    if (world.rank() == 0) {
      asio::cancellation_signal signal;
      std::optional<error_code> ended;
      world.split(0, 0)(asio::bind_cancellation_slot(
          signal.slot(), [&](error_code code, const weft::split_communicator&) { ended = code; }));
      signal.emit(asio::cancellation_type::terminal);
      while (!ended) co_await turn();
      CHECK(*ended == errc::cancelled);
      int done = 0;
      co_await world.recv(std::span(&done, 1), weft::from(1, 0));
    } else {
      weft::communicator made = co_await world.split(0, 0);
      CHECK(made.size() == 2);
      const int done = 1;
      co_await world.send(std::span(&done, 1), weft::to(0, 0));
    }
  };
  run_ranks(2, body);
}

TEST_CASE("a group of one can be split") {
  const auto body = [](weft::communicator world) -> asio::awaitable<void> {
    weft::communicator same = co_await world.split(3, 4);
    CHECK(same.size() == 1);
    weft::communicator none = co_await same.split(weft::no_color);
    CHECK_FALSE(none);
    co_await pass_around(same, 0);
  };
  run_ranks(1, body);
}
