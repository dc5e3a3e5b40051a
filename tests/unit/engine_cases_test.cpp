// SPDX-License-Identifier: Apache-2.0
// Inputs on which other systems hang, crash or corrupt data; the comment of each names where that was reported.
#include "ranks.hpp"
#include "waiting.hpp"

#include <weft/engine/objects.hpp>

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using weft::errc;
using weft::testing::run_ranks;
using weft::testing::running;
using weft::testing::turn;
using weft::testing::with_code;

namespace {

constexpr std::array routes{weft::route::inlined, weft::route::host, weft::route::device, weft::route::pair};
constexpr std::array large_routes{weft::route::host, weft::route::device, weft::route::pair};
constexpr std::size_t large = 500'000;  // of ints: more than sockets hold
constexpr std::uint64_t late_tag = 77;

/// Passes an int over a route in both directions.
asio::awaitable<void> greet(weft::communicator comm, weft::route route) {
  const int peer = 1 - comm.rank();
  const int mine = 10 + comm.rank();
  int theirs = 0;
  weft::batch both;
  both.send(std::span(&mine, 1), weft::to(peer, 500).via(route)).recv(std::span(&theirs, 1), weft::from(peer, 500));
  co_await comm.batch(both);
  CHECK(theirs == 10 + peer);
}

}  // namespace

// pytorch #94819, #125079
TEST_CASE("tags are told apart by all of their bits") {
  constexpr std::array<std::uint64_t, 4> tags{0, std::uint64_t{1} << 32, std::uint64_t{1} << 63,
                                              std::numeric_limits<std::uint64_t>::max()};
  for (const auto route : routes) {
    CAPTURE(weft::name(route));
    const auto body = [route, &tags](weft::communicator comm) -> asio::awaitable<void> {
      std::array<int, tags.size()> values{};
      weft::batch all;
      for (std::size_t i = 0; i < tags.size(); ++i) {
        const std::size_t reversed = tags.size() - 1 - i;
        if (comm.rank() == 0) {
          values[i] = static_cast<int>(i) + 1;
          all.send(std::span(&values[i], 1), weft::to(1, tags[i]).via(route));
        } else {
          all.recv(std::span(&values[reversed], 1), weft::from(0, tags[reversed]));
        }
      }
      co_await comm.batch(all);
      CHECK(values == std::array{1, 2, 3, 4});
    };
    run_ranks(2, body);
  }
}

// pytorch #113376, #110408, #83912
TEST_CASE("a message to oneself that does not fit fails both of its ends") {
  const auto body = [](weft::communicator comm) -> asio::awaitable<void> {
    const std::vector<int> mine(10, 1);
    for (const auto route : routes) {
      CAPTURE(weft::name(route));
      std::vector<int> longer(11, 7);
      std::vector<float> others(10, 7);
      for (const bool of_size : {true, false}) {
        const auto where = weft::to(0, 1).via(route).until(weft::matched);
        running sending(comm.send(mine, where));
        running receiving(of_size ? comm.recv(longer, weft::from(0, 1)) : comm.recv(others, weft::from(0, 1)));
        while (!sending.ended || !receiving.ended) co_await turn();
        const errc expected = of_size ? errc::size_mismatch : errc::element_type_mismatch;
        CHECK(*sending.ended == expected);
        CHECK(*receiving.ended == expected);
      }
      CHECK(longer == std::vector<int>(11, 7));
      CHECK(others == std::vector<float>(10, 7));
    }
    CHECK(comm.stats().unmatched == 0);
  };
  run_ranks(1, body);
}

// nccl #479
TEST_CASE("both ranks start a large send, and then a receive") {
  for (const auto route : large_routes) {
    CAPTURE(weft::name(route));
    const auto body = [route](weft::communicator comm) -> asio::awaitable<void> {
      const int peer = 1 - comm.rank();
      const std::vector<int> mine(large, comm.rank());
      std::vector<int> theirs(large, -1);
      running sending(comm.send(mine, weft::to(peer, 1).via(route)));
      co_await turn();
      co_await comm.recv(theirs, weft::from(peer, 1));
      CHECK(theirs == std::vector<int>(large, peer));
      while (!sending.ended) co_await turn();
      CHECK_FALSE(*sending.ended);
    };
    run_ranks(2, body);
  }
}

// nccl #479: here the program itself waits for what it does only later. A deadline ends that by name.
TEST_CASE("large sends that both ranks await before they receive end by their deadlines, and nothing is hurt") {
  for (const auto route : large_routes) {
    CAPTURE(weft::name(route));
    std::atomic<int> over = 0;
    const auto body = [&](weft::communicator comm) -> asio::awaitable<void> {
      const std::vector<int> mine(large, comm.rank());
      const auto where = weft::to(1 - comm.rank(), 1).via(route).within(10ms);
      auto [code, result] = co_await comm.send(mine, where)(with_code);
      CHECK(code == errc::timed_out);
      CHECK(result.details.phase == weft::phase::unmatched);
      ++over;
      while (over != 2) co_await turn();
      CHECK(comm.stats().unmatched == 0);
      co_await greet(comm, route);
    };
    run_ranks(2, body);
  }
}

// nccl #1279
TEST_CASE("one rank's batch meets the other rank's single operations, in another order") {
  for (const auto route : routes) {
    CAPTURE(weft::name(route));
    const auto body = [route](weft::communicator comm) -> asio::awaitable<void> {
      const int peer = 1 - comm.rank();
      constexpr std::uint64_t count = 20;
      std::vector<std::uint64_t> mine(count), theirs(count);
      for (std::uint64_t i = 0; i < count; ++i) mine[i] = 100 * static_cast<std::uint64_t>(comm.rank()) + i;
      if (comm.rank() == 0) {
        weft::batch all;
        for (std::uint64_t i = 0; i < count; ++i)
          all.send(std::span(&mine[i], 1), weft::to(peer, i).via(route))
              .recv(std::span(&theirs[i], 1), weft::from(peer, i));
        co_await comm.batch(all);
      } else {
        int left = 2 * count;
        const auto ended = [&left](boost::system::error_code code, const auto&) {
          CHECK_FALSE(code);
          --left;
        };
        for (std::uint64_t i = count; i-- != 0;) {
          comm.recv(std::span(&theirs[i], 1), weft::from(peer, i))(ended);
          co_await turn();
          comm.send(std::span(&mine[i], 1), weft::to(peer, i).via(route))(ended);
        }
        while (left != 0) co_await turn();
      }
      for (std::uint64_t i = 0; i < count; ++i) CHECK(theirs[i] == 100 * static_cast<std::uint64_t>(peer) + i);
    };
    run_ranks(2, body);
  }
}

// nccl #2130
TEST_CASE("the matched part of a batch completes while the rest has no other end") {
  for (const auto route : routes) {
    CAPTURE(weft::name(route));
    std::atomic<bool> over = false;
    const auto body = [&](weft::communicator comm) -> asio::awaitable<void> {
      std::vector<int> values(1'000, 1 - comm.rank());
      int arrived = 0;
      if (comm.rank() == 1) {
        co_await comm.recv(values, weft::from(0, 1));
        CHECK(values.back() == 1);
        co_await comm.send(std::span(&arrived, 1), weft::to(0, 3));
        while (!over) co_await turn();
        co_return;
      }
      int never = -1;
      asio::cancellation_signal signal;
      std::optional<weft::batch_result> ended;
      weft::batch both;
      both.send(values, weft::to(1, 1).via(route)).recv(std::span(&never, 1), weft::from(1, 2));
      comm.batch(both)(asio::bind_cancellation_slot(
          signal.slot(), [&](boost::system::error_code, const weft::batch_result& result) { ended = result; }));
      co_await comm.recv(std::span(&arrived, 1), weft::from(1, 3));
      CHECK_FALSE(ended);
      signal.emit(asio::cancellation_type::terminal);
      while (!ended) co_await turn();
      over = true;
      CHECK_FALSE(ended->entries[0].code);
      CHECK(ended->entries[1].code == errc::cancelled);
      CHECK(never == -1);
    };
    run_ranks(2, body);
  }
}

// pytorch #174288
TEST_CASE("thousands of operations in one batch complete") {
  const auto body = [](weft::communicator comm) -> asio::awaitable<void> {
    constexpr std::size_t count = 4'000;
    const int peer = 1 - comm.rank();
    std::vector<std::size_t> mine(count), theirs(count);
    weft::batch all;
    for (std::size_t i = 0; i < count; ++i) {
      mine[i] = i;
      all.send(std::span(&mine[i], 1), weft::to(peer, i / 8).via(routes[i % routes.size()]));
      all.recv(std::span(&theirs[i], 1), weft::from(peer, i / 8));
    }
    const weft::batch_result result = co_await comm.batch(all);
    CHECK(result.entries.size() == 2 * count);
    CHECK(theirs == mine);
  };
  run_ranks(2, body);
}

// pytorch #108378, nccl #1025
TEST_CASE("a send without a receive costs its rank nothing, is not launched, and is received late") {
  std::atomic<bool> others_done = false;
  const auto body = [&](weft::communicator comm) -> asio::awaitable<void> {
    std::vector<std::vector<int>> values;
    for (const auto route : routes)
      values.emplace_back(route == weft::route::inlined ? 1'000 : large, static_cast<int>(route) * (1 - comm.rank()));
    if (comm.rank() == 1) {
      // Nothing of the first messages is launched: only these are.
      for (const auto route : routes) co_await greet(comm, route);
      while (!others_done) co_await turn();
      for (std::size_t i = routes.size(); i-- != 0;) {
        co_await comm.recv(values[i], weft::from(0, late_tag + i));
        CHECK(values[i].back() == static_cast<int>(routes[i]));
      }
      co_return;
    }
    weft::batch late;
    for (std::size_t i = 0; i < routes.size(); ++i)
      late.send(values[i], weft::to(1, late_tag + i).via(routes[i]).until(weft::matched));
    running sending(comm.batch(late));
    for (const auto route : routes) co_await greet(comm, route);
    CHECK_FALSE(sending.ended);
    const auto sent = comm.stats().sent;
    CHECK(sent[static_cast<std::size_t>(weft::route::device)].messages == 1);
    CHECK(sent[static_cast<std::size_t>(weft::route::pair)].messages == 1);
    CHECK(comm.stats().batches <= 4);
    others_done = true;
    while (!sending.ended) co_await turn();
    CHECK_FALSE(*sending.ended);
  };
  run_ranks(2, body);
}

// pytorch #109611
TEST_CASE("a lone receive that timed out leaves the communicators intact") {
  const auto body = [](weft::communicator comm) -> asio::awaitable<void> {
    for (const auto route : routes) {
      CAPTURE(weft::name(route));
      co_await greet(comm, route);
      if (comm.rank() == 0) {
        int never = -1;
        const auto where = weft::from(1, 500).within(1ms);
        auto [code, result] = co_await comm.recv(std::span(&never, 1), where)(with_code);
        CHECK(code == errc::timed_out);
        CHECK(never == -1);
        const int go = 1;
        co_await comm.send(std::span(&go, 1), weft::to(1, 1));
      } else {
        int go = 0;
        co_await comm.recv(std::span(&go, 1), weft::from(0, 1));
      }
      co_await greet(comm, route);
    }
  };
  run_ranks(2, body);
}

// pytorch #134390
TEST_CASE("a small object is one message and no transfer of the device") {
  const auto body = [](weft::communicator comm) -> asio::awaitable<void> {
    if (comm.rank() == 0) {
      const std::string text = "small";
      co_await weft::send_objects(comm, weft::to(1, 1), text, 7);
      const weft::communicator_stats stats = comm.stats();
      CHECK(stats.sent[static_cast<std::size_t>(weft::route::inlined)].messages == 1);
      CHECK(stats.batches == 0);
      CHECK(stats.group_communicators == 0);
    } else {
      auto [envelope, text, number] = co_await weft::recv_objects<std::string, int>(comm, weft::from(0, 1));
      CHECK(text == "small");
      CHECK(number == 7);
      CHECK(comm.stats().received.messages == 1);
    }
  };
  run_ranks(2, body);
}
