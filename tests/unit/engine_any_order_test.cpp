// SPDX-License-Identifier: Apache-2.0
// Many operations at once, in an order that nobody planned.
#include "ranks.hpp"
#include "waiting.hpp"

#include <weft/coro/sync_wait.hpp>
#include <weft/coro/task.hpp>
#include <weft/coro/when_all.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <iostream>
#include <memory>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using boost::system::error_code;
using weft::errc;
using weft::testing::run_ranks;
using weft::testing::running;
using weft::testing::turn;

namespace {

constexpr std::array routes{weft::route::inlined, weft::route::host, weft::route::device, weft::route::pair};

unsigned new_seed() {
  const unsigned seed = std::random_device()();
  std::cout << "seed " << seed << '\n';
  return seed;
}

/// The n-th message of one sender to one receiver under one tag: both know its size and its content.
struct message {
  int source;
  int destination;
  std::uint64_t tag;
  unsigned number;

  [[nodiscard]] std::vector<unsigned> content() const {
    std::seed_seq all{static_cast<unsigned>(source), static_cast<unsigned>(destination), static_cast<unsigned>(tag),
                      number};
    std::minstd_rand random(all);
    const std::size_t size = random() % 8 == 0 ? random() % 100'000 : random() % 100;
    return std::vector<unsigned>(size, number);
  }
};

/// One rank's operations with all others and itself, as often as `per_peer` says in each direction.
class all_to_all {
 public:
  static constexpr std::uint64_t tags = 4;

  all_to_all(weft::communicator comm, weft::route route, unsigned per_peer, unsigned seed)
      : comm_(std::move(comm)), route_(route), random_(seed + static_cast<unsigned>(comm_.rank())) {
    for (int peer = 0; peer < comm_.size(); ++peer)
      for (const bool sends : {true, false})
        for (unsigned i = 0; i < per_peer; ++i) plan_.push_back({peer, i % tags, sends});
    std::shuffle(plan_.begin(), plan_.end(), random_);
    numbers_.resize(static_cast<std::size_t>(comm_.size()) * tags * 2);
  }

  /// Yields how many operations failed, or got what was not sent.
  asio::awaitable<int> run() {
    for (const step& next : plan_) {
      start(next);
      if (random_() % 16 == 0) co_await turn();
    }
    while (left_ != 0) co_await turn();
    co_return wrong_;
  }

 private:
  struct step {
    int peer;
    std::uint64_t tag;
    bool sends;
  };

  void start(const step& next) {
    unsigned& number = numbers_[(static_cast<std::size_t>(next.peer) * tags + next.tag) * 2 + (next.sends ? 1 : 0)];
    const int self = comm_.rank();
    const message which{next.sends ? self : next.peer, next.sends ? next.peer : self, next.tag, number++};
    ++left_;
    // What is sent, or what the receive is to find.
    auto expected = std::make_shared<std::vector<unsigned>>(which.content());
    if (next.sends) {
      auto sending = comm_.send(*expected, weft::to(next.peer, next.tag).via(route_));
      std::move(sending)([this, expected](error_code code, const weft::sent&) { end(!code); });
      return;
    }
    auto got = std::make_shared<std::vector<unsigned>>(expected->size());
    auto receiving = comm_.recv(*got, weft::from(next.peer, next.tag));
    std::move(receiving)(
        [this, expected, got](error_code code, const weft::received&) { end(!code && *got == *expected); });
  }

  void end(bool right) {
    --left_;
    wrong_ += !right;
  }

  weft::communicator comm_;
  weft::route route_;
  std::mt19937 random_;
  std::vector<step> plan_;
  std::vector<unsigned> numbers_;
  int left_ = 0;
  int wrong_ = 0;
};

void all_talk_to_all(int ranks, weft::route route, unsigned per_peer) {
  const unsigned seed = new_seed();
  CAPTURE(seed);
  CAPTURE(weft::name(route));
  const auto body = [=](weft::communicator comm) -> asio::awaitable<void> {
    all_to_all work(comm, route, per_peer, seed);
    const int wrong = co_await work.run();
    CHECK(wrong == 0);
  };
  run_ranks(ranks, body);
}

}  // namespace

TEST_CASE("eight ranks talk to all over the group's communicator, each in an order of its own") {
  all_talk_to_all(8, weft::route::device, 63);  // about a thousand operations at each rank
}

TEST_CASE("eight ranks talk to all through pairs, each in an order of its own") {
  all_talk_to_all(8, weft::route::pair, 32);
}

// Mooncake #2044
TEST_CASE("sixteen ranks that all dial each other at once lose nothing") {
  all_talk_to_all(16, weft::route::host, 4);
}

TEST_CASE("a receive from any source takes what comes before the specific ones that were posted later") {
  for (const auto route : routes) {
    CAPTURE(weft::name(route));
    std::atomic<bool> posted = false;
    const auto body = [&](weft::communicator comm) -> asio::awaitable<void> {
      constexpr int each = 40;
      if (comm.rank() != 0) {
        while (!posted) co_await turn();
        for (int i = 0; i < each; ++i) {
          const std::array value{comm.rank(), i};
          co_await comm.send(value, weft::to(0, 1).via(route));
        }
        co_return;
      }
      // The posted ones are so few that all are met, whoever sends first.
      constexpr std::size_t count = 2 * each;
      constexpr std::size_t posted_count = count / 2;
      std::array<std::array<int, 2>, count> got{};
      std::array<int, count> source{};
      std::size_t met = 0;
      const auto wanted = [](std::size_t i) { return i < posted_count ? static_cast<int>(i / 2) % 3 : 0; };
      const auto post = [&](std::size_t i) {
        const auto where = wanted(i) == 0 ? weft::from(weft::any_source, 1) : weft::from(wanted(i), 1);
        comm.recv(got[i], where)([&, i](error_code code, const weft::received& result) {
          CHECK_FALSE(code);
          source[i] = result.source;
          ++met;
        });
      };
      for (std::size_t i = 0; i < posted_count; ++i) post(i);
      posted = true;
      while (met != posted_count) co_await turn();
      for (std::size_t i = posted_count; i < count; ++i) post(i);
      while (met != count) co_await turn();
      std::array<int, 3> next{};
      for (std::size_t i = 0; i < count; ++i) {
        CHECK((wanted(i) == 0 || source[i] == wanted(i)));
        CHECK(got[i][0] == source[i]);
        // The messages of one sender went, in order, to the receives that could take them in the order of posting.
        CHECK(got[i][1] == next[static_cast<std::size_t>(source[i])]++);
      }
    };
    run_ranks(3, body);
  }
}

TEST_CASE("of two like receives one is cancelled, and the other gets the message") {
  for (const auto route : routes) {
    for (const bool first : {true, false}) {
      CAPTURE(weft::name(route));
      CAPTURE(first);
      std::atomic<bool> cancelled = false;
      const auto body = [&](weft::communicator comm) -> asio::awaitable<void> {
        std::vector<int> value(1'000, 5);
        if (comm.rank() == 1) {
          while (!cancelled) co_await turn();
          co_await comm.send(value, weft::to(0, 1).via(route));
          co_return;
        }
        std::vector<int> one(1'000), two(1'000);
        running earlier(comm.recv(one, weft::from(1, 1)));
        running later(comm.recv(two, weft::from(1, 1)));
        auto& leaving = first ? earlier : later;
        auto& staying = first ? later : earlier;
        leaving.signal.emit(asio::cancellation_type::terminal);
        cancelled = true;
        while (!earlier.ended || !later.ended) co_await turn();
        CHECK(*leaving.ended == errc::cancelled);
        CHECK_FALSE(*staying.ended);
        CHECK((first ? two : one) == value);
        CHECK((first ? one : two) == std::vector<int>(1'000));
      };
      run_ranks(2, body);
    }
  }
}

TEST_CASE("one coroutine has ten thousand operations in flight") {
  constexpr std::size_t count = 5'000;  // of sends, and of receives
  const auto work = [](weft::communicator comm) -> weft::coro::task<bool> {
    const int peer = 1 - comm.rank();
    std::vector<std::size_t> mine(count), theirs(count);
    std::vector<weft::send_operation> sends;
    std::vector<weft::receive_operation> receives;
    for (std::size_t i = 0; i < count; ++i) {
      mine[i] = i;
      sends.push_back(comm.send(std::span(&mine[i], 1), weft::to(peer, i).via(routes[i % routes.size()])));
      const std::size_t reversed = count - 1 - i;
      receives.push_back(comm.recv(std::span(&theirs[reversed], 1), weft::from(peer, reversed)));
    }
    auto all_sends = weft::coro::when_all(std::move(sends));
    auto all_receives = weft::coro::when_all(std::move(receives));
    co_await weft::coro::when_all(std::move(all_sends), std::move(all_receives));
    co_return theirs == mine;
  };
  const auto body = [&work](weft::communicator comm) -> asio::awaitable<void> {
    auto outside = std::async(std::launch::async, [&] { return weft::coro::sync_wait(work(comm)); });
    while (outside.wait_for(std::chrono::seconds(0)) != std::future_status::ready) co_await turn();
    CHECK(outside.get());
  };
  run_ranks(2, body);
}
