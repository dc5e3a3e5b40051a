// SPDX-License-Identifier: Apache-2.0
// Pair communicators that are made ahead of their use.
#include "ranks.hpp"
#include "waiting.hpp"

#include <doctest/doctest.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using weft::errc;
using weft::testing::run_ranks;
using weft::testing::running;
using weft::testing::turn;
using weft::testing::with_code;

namespace {

/// Nobody goes on before all are here.
asio::awaitable<void> meet(weft::communicator comm) {
  for (int peer = 0; peer < comm.size(); ++peer)
    co_await comm.send(std::span<const int>(), weft::to(peer, 77).via(weft::route::inlined));
  for (int peer = 0; peer < comm.size(); ++peer) co_await comm.recv(std::span<int>(), weft::from(peer, 77));
}

}  // namespace

TEST_CASE("reserved pairs are there before they are used, at both ends, and no others") {
  const auto body = [](weft::communicator comm) -> asio::awaitable<void> {
    if (comm.rank() == 0) {
      co_await comm.reserve(1, 2);
      co_await comm.reserve(2);  // it is there
      co_await comm.reserve(std::vector<int>());
    }
    co_await meet(comm);
    using pairs = std::vector<std::pair<int, int>>;
    const std::vector<pairs> expected{{{0, 1}, {0, 2}}, {{0, 1}}, {{0, 2}}, {}};
    CHECK(comm.stats().pair_communicators == expected[static_cast<std::size_t>(comm.rank())]);
    CHECK(comm.stats().group_communicators == 0);

    int value = 5;
    if (comm.rank() == 0) co_await comm.send(std::span(&value, 1), weft::to(1, 1).via(weft::route::pair));
    if (comm.rank() == 1) {
      co_await comm.recv(std::span(&value, 1), weft::from(0, 1));
      CHECK(comm.stats().pair_communicators.size() == 1);
    }
    co_await meet(comm);
  };
  run_ranks(4, body);
}

TEST_CASE("ranks of a group that was split off are reserved by their numbers there, by all at once") {
  const auto body = [](weft::communicator world) -> asio::awaitable<void> {
    weft::communicator odd_or_even = co_await world.split(world.rank() % 2);
    co_await odd_or_even.reserve(1 - odd_or_even.rank());
    const int other = (world.rank() + 2) % 4;
    const std::vector<std::pair<int, int>> expected{std::minmax(world.rank(), other)};
    CHECK(world.stats().pair_communicators == expected);
    co_await meet(world);
  };
  run_ranks(4, body);
}

TEST_CASE("a reservation that cannot be fails by name, and the pair that is there goes on") {
  const auto body = [](weft::communicator comm) -> asio::awaitable<void> {
    if (comm.rank() == 0) {
      co_await comm.reserve(1);
      {
        auto [code, result] = co_await comm.reserve(1, 2)(with_code);
        CHECK(code == errc::set_up_failed);
        CHECK(result.details.peer == 2);
        const std::string text = weft::describe(code, result.details);
        CHECK(text.find("reserve the pair with rank 2: ") != std::string::npos);
        CHECK(text.find("pair_budget (1 here)") != std::string::npos);
      }
      {
        auto [code, result] = co_await comm.reserve(1, 0)(with_code);
        CHECK(code == errc::invalid_option);
        CHECK(result.details.reason == "there is no pair of one rank, and this is rank 0");
      }
      {
        auto [code, result] = co_await comm.reserve(3)(with_code);
        CHECK(code == errc::rank_out_of_range);
        CHECK(result.details.reason == "there are ranks 0 to 2");
      }
    }
    co_await meet(comm);
  };
  run_ranks(3, body, {.adjust = [](weft::engine_options& options) { options.pair_budget = 1; }});
}

TEST_CASE("pairs are limited by the memory that they take on a GPU, by rank 0's word") {
  const auto body = [](weft::communicator comm) -> asio::awaitable<void> {
    if (comm.rank() == 1) {
      auto [first, made] = co_await comm.reserve(0)(with_code);
      CHECK_FALSE(first);
      auto [second, none] = co_await comm.reserve(2)(with_code);
      if (comm.device_name() == "host") {
        CHECK_FALSE(second);
      } else {
        CHECK(second == errc::set_up_failed);
        CHECK(none.details.reason.find("pair_budget_bytes (1 here)") != std::string::npos);
      }
    }
    co_await meet(comm);
  };
  const auto room_for_one = [](weft::engine_options& options) {
    options.pair_budget_bytes = options.rank == 0 ? std::size_t{40} << 20 : 1;
  };
  run_ranks(3, body, {.adjust = room_for_one});
}

TEST_CASE("a reservation with a rank that has left fails by name, and who cancels one is told at once") {
  const auto body = [](weft::communicator comm) -> asio::awaitable<void> {
    if (comm.rank() != 0) co_return;
    running cancelled(comm.reserve(1));
    cancelled.signal.emit(asio::cancellation_type::terminal);
    while (!cancelled.ended) co_await turn();
    CHECK(*cancelled.ended == errc::cancelled);

    errc code{};
    while (code == errc{}) {
      auto [ended, result] = co_await comm.reserve(1)(with_code);
      if (ended) {
        CHECK(ended == errc::peer_left);
        CHECK(result.details.peer == 1);
        code = errc::peer_left;
      }
    }
  };
  run_ranks(2, body);
}
