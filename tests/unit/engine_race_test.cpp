// SPDX-License-Identifier: Apache-2.0
// A receive that races against a timer, again and again, while messages keep coming.
#include "ranks.hpp"
#include "sanitized.hpp"
#include "waiting.hpp"

#include <doctest/doctest.h>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <iostream>
#include <random>
#include <span>

namespace asio = boost::asio;
using weft::testing::run_ranks;
using weft::testing::turn;

namespace {

constexpr int rounds = weft::testing::is_sanitized ? 5'000 : 100'000;

constexpr int end_mark = -2;

/// How far the receiver is, and whether it has seen enough.
struct progress {
  std::atomic<int> received = 0;
  std::atomic<bool> enough = false;
};

/// Sends 0, 1, 2... and then the end mark; at most so many ahead that the receiver keeps them all.
asio::awaitable<void> send_steadily(weft::communicator comm, weft::route route, const progress& at) {
  constexpr int most_ahead = 8;
  for (int i = 0; !at.enough; ++i) {
    co_await comm.send(std::span(&i, 1), weft::to(0, 1).via(route));
    while (i - at.received > most_ahead && !at.enough) co_await turn();
  }
  co_await comm.send(std::span(&end_mark, 1), weft::to(0, 1).via(route));
}

/// What the races came to.
struct tally {
  int receives = 0;
  int timers = 0;
  int both = 0;  ///< the timer was first, and the message was on its way already
  int next = 0;  ///< what is to come
};

/// Whoever wins, a number that has arrived is the next one.
asio::awaitable<void> race(weft::communicator comm, std::minstd_rand& random, tally& count) {
  using namespace asio::experimental::awaitable_operators;
  constexpr int nothing = -1;
  int got = nothing;
  asio::steady_timer soon(co_await asio::this_coro::executor, std::chrono::microseconds(random() % 40));
  auto receiving = comm.recv(std::span(&got, 1), weft::from(1, 1))(asio::use_awaitable);
  auto ended = co_await (std::move(receiving) || soon.async_wait(asio::use_awaitable));
  if (ended.index() == 0)
    ++count.receives;
  else
    ++(got == nothing ? count.timers : count.both);
  if (got != nothing) CHECK(got == count.next++);
}

tally race_many_times(weft::route route, int times) {
  const unsigned seed = std::random_device()();
  std::cout << "seed " << seed << '\n';
  CAPTURE(seed);
  CAPTURE(weft::name(route));
  progress at;
  tally count;
  const auto body = [&](weft::communicator comm) -> asio::awaitable<void> {
    if (comm.rank() == 1) {
      co_await send_steadily(comm, route, at);
      co_return;
    }
    std::minstd_rand random(seed);
    for (int i = 0; i < times; ++i) {
      co_await race(comm, random, count);
      at.received = count.next;
    }
    at.enough = true;
    // What no race took is still there, in order.
    for (int got = 0; got != end_mark;) {
      co_await comm.recv(std::span(&got, 1), weft::from(1, 1));
      if (got != end_mark) CHECK(got == count.next++);
    }
  };
  run_ranks(2, body);
  std::cout << count.receives << " receives, " << count.timers << " timers, " << count.both << " both, of "
            << count.next << " messages\n";
  return count;
}

}  // namespace

TEST_CASE("of a receive that races against a timer no message is lost, and their order is kept") {
  const tally count = race_many_times(weft::route::inlined, rounds);
  CHECK(count.receives > 0);
  CHECK(count.timers > 0);
  // `||` forgets what ended second: a receive that cannot be withdrawn any more must not be among it.
  CHECK(count.both == 0);
}

TEST_CASE("on a route whose transfers take time, what was on its way when the timer ended is in its place") {
  for (const auto route : {weft::route::host, weft::route::device, weft::route::pair})
    race_many_times(route, rounds / 50);
}
