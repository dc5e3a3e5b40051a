// SPDX-License-Identifier: Apache-2.0
// Communicators that are aborted again and again because a launch takes longer than it may, which here is next to
// nothing. Transfers end by that name or arrive; nobody is taken for lost, and nothing hangs.
#include "ranks.hpp"

#include <doctest/doctest.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <numeric>
#include <span>
#include <vector>

namespace asio = boost::asio;
using weft::testing::run_ranks;
using namespace std::chrono_literals;

namespace {

constexpr int ranks = 3;
constexpr int messages = 40;  // to each other rank at a time
constexpr std::size_t most_ints = 30'000;

/// How the ends of transfers came out.
struct tally {
  int arrived = 0;
  int aborted = 0;
};

/// All ranks send to all others at once; whatever arrives is intact.
asio::awaitable<void> exchange(weft::communicator comm, weft::route route, tally& count) {
  weft::batch all;
  std::vector<std::vector<int>> sent;
  std::vector<std::vector<int>> received;
  for (int i = 0; i < messages; ++i) {
    sent.emplace_back(1 + most_ints * static_cast<std::size_t>(i) / messages);
    std::iota(sent.back().begin(), sent.back().end(), i);
  }
  for (int peer = 0; peer < ranks; ++peer) {
    if (peer == comm.rank()) continue;
    for (const std::vector<int>& message : sent) {
      all.send(message, weft::to(peer, 1).via(route));
      received.emplace_back(message.size());
    }
  }
  auto into = received.begin();
  for (int peer = 0; peer < ranks; ++peer)
    for (int i = 0; peer != comm.rank() && i < messages; ++i) all.recv(*into++, weft::from(peer, 1));

  auto operation = comm.batch(all);
  const auto [code, result] = co_await std::move(operation)(asio::as_tuple(asio::use_awaitable));
  for (std::size_t i = 0; i < result.entries.size(); ++i) {
    const auto& end = result.entries[i];
    CAPTURE(weft::describe(end.code, end.details));
    ++(end.code ? count.aborted : count.arrived);
    if (end.code) {
      CHECK(end.code == weft::errc::transfer_aborted);
    } else if (i >= received.size()) {  // receives come after as many sends
      const std::size_t at = i - received.size();
      CHECK(received[at] == sent[at % messages]);
    }
  }
}

tally exchange_with_limit(weft::route route, std::chrono::nanoseconds launch_timeout) {
  std::array<tally, ranks> counts;
  const auto body = [&](weft::communicator comm) -> asio::awaitable<void> {
    for (int round = 0; round < 5; ++round)
      co_await exchange(comm, route, counts[static_cast<std::size_t>(comm.rank())]);
    // Without that nobody knows whether the others still need this rank.
    for (int peer = 0; peer < ranks; ++peer)
      co_await comm.send(std::span<const int>(), weft::to(peer, 2).via(weft::route::inlined));
    for (int peer = 0; peer < ranks; ++peer) co_await comm.recv(std::span<int>(), weft::from(peer, 2));
  };
  run_ranks(ranks, body, {.adjust = [&](weft::engine_options& options) { options.launch_timeout = launch_timeout; }});
  tally all;
  for (const tally& one : counts) {
    all.arrived += one.arrived;
    all.aborted += one.aborted;
  }
  return all;
}

}  // namespace

TEST_CASE("transfers that take longer than launch_timeout are aborted, and nobody is taken for lost") {
  for (const auto route : {weft::route::device, weft::route::pair}) {
    CAPTURE(weft::name(route));
    int aborted = 0;
    for (const auto limit : {1us, 30us, 300us, 1000us}) aborted += exchange_with_limit(route, limit).aborted;
    CHECK(aborted > 0);
    CHECK(exchange_with_limit(route, 30s).aborted == 0);
  }
}
