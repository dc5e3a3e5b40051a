// SPDX-License-Identifier: Apache-2.0
// A rank that takes no part for a while delays nobody but those who wait for it. No time is measured: who is held is
// let go by those who must not be delayed, so that a delay is a test that does not end.
#include "ranks.hpp"
#include "relay.hpp"
#include "waiting.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <latch>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace asio = boost::asio;
using weft::testing::line;
using weft::testing::links;
using weft::testing::relay;
using weft::testing::relayed_rendezvous;
using weft::testing::run_ranks;
using weft::testing::running;
using weft::testing::turn;

namespace {

constexpr int ranks = 4;
constexpr std::array routes{weft::route::inlined, weft::route::host, weft::route::device, weft::route::pair};
constexpr std::size_t large = 500'000;  // of ints: more than sockets hold

/// In a ring of all ranks but one each sends to the next, `rounds` times by each of `by`.
template <std::size_t N>
asio::awaitable<void> go_round(weft::communicator comm, int absent, const std::array<weft::route, N>& by, int rounds) {
  const auto beside = [&](int step) {
    const int size = comm.size();
    const int one = (comm.rank() + step + size) % size;
    return one == absent ? (one + step + size) % size : one;
  };
  for (int i = 0; i < rounds; ++i) {
    for (const auto route : by) {
      const std::vector<int> mine(route == weft::route::inlined ? 100 : 10'000, i);
      std::vector<int> theirs(mine.size());
      weft::batch both;
      both.send(mine, weft::to(beside(1), 1).via(route)).recv(theirs, weft::from(beside(-1), 1));
      co_await comm.batch(both);
      CHECK(theirs == mine);
    }
  }
}

/// The loop of `held` stands still, in one of its handlers, until all others have gone round.
void hold_the_loop_of(int held, bool acquainted) {
  CAPTURE(held);
  std::latch held_now(1);
  std::latch others_done(ranks - 1);
  const auto body = [&](weft::communicator comm) -> asio::awaitable<void> {
    if (acquainted) co_await go_round(comm, -1, routes, 2);
    if (comm.rank() == held) {
      held_now.count_down();
      others_done.wait();
    } else {
      held_now.wait();
      co_await go_round(comm, held, routes, 20);
      others_done.count_down();
    }
    co_await go_round(comm, -1, routes, 2);
  };
  run_ranks(ranks, body);
}

/// Messages to rank 3, on every route, that it does not receive before the others have gone round.
class neglected {
 public:
  explicit neglected(const weft::communicator& comm) : comm_(comm) {}

  /// More in one message than sockets hold, and more inline messages than it grants credit for.
  void start_sending() {
    for (const auto route : {weft::route::host, weft::route::device, weft::route::pair})
      sends_.push_back(std::make_unique<sending>(comm_.send(large_, weft::to(3, tag_of(route)).via(route))));
    for (int i = 0; i < inline_count; ++i)
      sends_.push_back(std::make_unique<sending>(
          comm_.send(small_, weft::to(3, tag_of(weft::route::inlined)).via(weft::route::inlined))));
  }

  asio::awaitable<void> end() {
    for (const auto& one : sends_) {
      while (!one->ended) co_await turn();
      CHECK_FALSE(*one->ended);
    }
  }

  /// At rank 3.
  static asio::awaitable<void> receive_all(weft::communicator comm) {
    std::vector<int> got(large), small(small_size);
    for (int source = 0; source < 3; ++source) {
      for (const auto route : {weft::route::pair, weft::route::device, weft::route::host}) {
        co_await comm.recv(got, weft::from(source, tag_of(route)));
        CHECK(got.back() == 7);
      }
      for (int i = 0; i < inline_count; ++i)
        co_await comm.recv(small, weft::from(source, tag_of(weft::route::inlined)));
    }
  }

  static constexpr std::size_t credit = 10'000;  // bytes

 private:
  using sending = running<weft::send_operation>;
  static constexpr std::size_t small_size = 100;
  static constexpr int inline_count = 100;

  static std::uint64_t tag_of(weft::route route) { return 100 + static_cast<std::uint64_t>(route); }

  weft::communicator comm_;
  const std::vector<int> large_ = std::vector<int>(large, 7);
  const std::vector<int> small_ = std::vector<int>(small_size, 7);
  std::vector<std::unique_ptr<sending>> sends_;
};

}  // namespace

TEST_CASE("a rank whose handler holds its loop delays no transfer among the others, even if it orders them") {
  for (const int held : {0, 3}) hold_the_loop_of(held, true);
}

TEST_CASE("a rank whose handler holds its loop does not keep others from finding each other") {
  for (const int held : {0, 3}) hold_the_loop_of(held, false);
}

TEST_CASE("a transfer that is matched is carried out while the loop of one of its ranks is held") {
  for (const auto route : {weft::route::device, weft::route::pair}) {
    for (const int held : {0, 1}) {
      CAPTURE(weft::name(route));
      CAPTURE(held);
      std::latch done(1);
      const auto body = [&](weft::communicator comm) -> asio::awaitable<void> {
        const int peer = 1 - comm.rank();
        std::vector<int> values(large, peer);
        std::optional<boost::system::error_code> ended;
        const auto end = [&ended](boost::system::error_code code, const auto&) { ended = code; };
        if (comm.rank() == 0)
          comm.send(values, weft::to(1, 1).via(route))(end);
        else
          comm.recv(values, weft::from(0, 1))(end);
        // Rank 1 has matched it when rank 0's second message comes, and has told the sequencer.
        const int mine = 1;
        int theirs = 0;
        if (comm.rank() == 1) co_await comm.recv(std::span(&theirs, 1), weft::from(0, 2));
        co_await comm.send(std::span(&mine, 1), weft::to(peer, 2));
        if (comm.rank() == 0) co_await comm.recv(std::span(&theirs, 1), weft::from(1, 2));
        co_await turn();
        if (comm.rank() == held) done.wait();
        while (!ended) co_await turn();
        CHECK_FALSE(*ended);
        CHECK(values.back() == 1);
        if (comm.rank() != held) done.count_down();
      };
      run_ranks(2, body);
    }
  }
}

TEST_CASE("a peer that does not receive delays nothing that its senders do with others") {
  std::latch others_done(ranks - 1);
  const auto body = [&](weft::communicator comm) -> asio::awaitable<void> {
    if (comm.rank() == 3) {
      while (!others_done.try_wait()) co_await turn();
      co_await neglected::receive_all(comm);
    } else {
      neglected waiting(comm);
      waiting.start_sending();
      co_await go_round(comm, 3, routes, 20);
      others_done.count_down();
      co_await waiting.end();
    }
    co_await go_round(comm, -1, routes, 2);
  };
  const auto adjust = [](weft::engine_options& options) { options.inline_credit = neglected::credit; };
  run_ranks(ranks, body, {.over = weft::transport::unix_socket, .adjust = adjust});
}

namespace {

/// All ranks have come here.
class meeting_point {
 public:
  asio::awaitable<void> arrive() {
    latch_.count_down();
    while (!latch_.try_wait()) co_await turn();
  }

 private:
  std::latch latch_{ranks};
};

/// Rank 3 comes to a standstill, as a process that was stopped, in the middle of large transfers that lower ranks send
/// it by `route`; meanwhile these go round by `others`.
template <std::size_t N>
class standstill {
 public:
  standstill(weft::route route, int senders, const std::array<weft::route, N>& others)
      : route_(route), senders_(senders), others_(others) {}

  void run() {
    const auto body = [this](weft::communicator comm) -> asio::awaitable<void> { co_await live(comm); };
    const auto adjust = [this](weft::engine_options& options) {
      options.meeting = std::make_shared<relayed_rendezvous>(options.meeting, lines_of(options.rank));
    };
    run_ranks(ranks, body, {.over = weft::transport::unix_socket, .adjust = adjust});
  }

 private:
  asio::awaitable<void> live(weft::communicator comm) {
    co_await connect_to_the_last(comm);
    co_await connected_.arrive();
    // The bytes of a transfer stand still, so that it is launched and does not end.
    if (comm.rank() != 3) lines_of(comm.rank()).hold(line::device, 3);
    co_await held_.arrive();
    const std::uint64_t before = comm.stats().batches;
    std::vector<std::vector<int>> values(static_cast<std::size_t>(senders_), std::vector<int>(large, comm.rank()));
    std::vector<std::unique_ptr<running<weft::send_operation>>> sending;
    std::vector<std::unique_ptr<running<weft::receive_operation>>> receiving;
    if (comm.rank() < senders_)
      sending.push_back(
          std::make_unique<running<weft::send_operation>>(comm.send(values[0], weft::to(3, 1).via(route_))));
    for (int source = 0; comm.rank() == 3 && source < senders_; ++source)
      receiving.push_back(std::make_unique<running<weft::receive_operation>>(
          comm.recv(values[static_cast<std::size_t>(source)], weft::from(source, 1))));
    while (comm.stats().batches - before < sending.size() + receiving.size()) co_await turn();
    co_await launched_.arrive();
    stop(comm.rank());
    co_await stopped_.arrive();
    if (comm.rank() != 3) co_await go_round(comm, 3, others_, 20);
    co_await others_done_.arrive();
    lines_of(comm.rank()).release();
    for (const auto& one : sending) {
      while (!one->ended) co_await turn();
      CHECK_FALSE(*one->ended);
    }
    for (std::size_t source = 0; source < receiving.size(); ++source) {
      while (!receiving[source]->ended) co_await turn();
      CHECK_FALSE(*receiving[source]->ended);
      CHECK(values[source] == std::vector<int>(large, static_cast<int>(source)));
    }
    co_await go_round(comm, -1, routes, 2);
  }

  asio::awaitable<void> connect_to_the_last(weft::communicator comm) {
    int value = 0;
    if (comm.rank() != 3) co_await comm.send(std::span(&value, 1), weft::to(3, 1).via(route_));
    for (int source = 0; comm.rank() == 3 && source < 3; ++source)
      co_await comm.recv(std::span(&value, 1), weft::from(source, 1));
  }

  void stop(int rank) {
    if (rank != 3) return lines_of(rank).hold(line::link, 3);
    for (int other = 0; other < 3; ++other) lines_of(3).hold(line::link, other);
    lines_of(3).hold(line::log, 0);
    lines_of(3).hold(line::report, 0);
  }

  relay& lines_of(int rank) { return lines_[static_cast<std::size_t>(rank)]; }

  weft::route route_;
  int senders_;
  std::array<weft::route, N> others_;
  std::array<relay, ranks> lines_;
  meeting_point connected_, held_, launched_, stopped_, others_done_;
};

}  // namespace

TEST_CASE("a process that stands still in the middle of transfers through pairs delays nothing between others") {
  standstill(weft::route::pair, 3, routes).run();
}

TEST_CASE("one that stands still in the middle of a transfer of the group delays others on that route alone") {
  constexpr std::array others{weft::route::inlined, weft::route::host, weft::route::pair};
  standstill(weft::route::device, 1, others).run();
}
