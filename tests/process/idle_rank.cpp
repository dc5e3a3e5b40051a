// SPDX-License-Identifier: Apache-2.0
// One rank of the job of idle_test.cpp. It talks to all others over every route, says "idle" with its process number,
// and does nothing more until SIGTERM.
#include <weft/weft.hpp>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <unistd.h>

#include <csignal>
#include <iostream>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace asio = boost::asio;

namespace {

constexpr std::uint64_t unmatched_tag = 1;

/// Every rank sends to every other, itself left out, and receives from it.
asio::awaitable<void> talk_to_all(weft::communicator comm, weft::route route) {
  const std::uint64_t tag = 10 + static_cast<std::uint64_t>(route);
  const std::vector<int> mine(1'000, comm.rank());
  std::vector<std::vector<int>> theirs(static_cast<std::size_t>(comm.size()), std::vector<int>(mine.size()));
  weft::batch all;
  for (int peer = 0; peer < comm.size(); ++peer) {
    if (peer == comm.rank()) continue;
    all.send(mine, weft::to(peer, tag).via(route));
    all.recv(theirs[static_cast<std::size_t>(peer)], weft::from(peer, tag));
  }
  co_await comm.batch(all);
}

/// Whether all that costs something to keep is there: links to all others, and communicators of both kinds.
bool is_connected(const weft::communicator& comm) {
  const weft::communicator_stats stats = comm.stats();
  const auto others = static_cast<std::size_t>(comm.size() - 1);
  return stats.open_links == others && stats.group_communicators == 1 && stats.pair_communicators.size() == others;
}

/// Ends only by being cancelled.
asio::awaitable<void> await_what_never_comes(weft::communicator comm) {
  int nothing = 0;
  co_await comm.recv(std::span(&nothing, 1), weft::from(weft::any_source, unmatched_tag));
}

asio::awaitable<void> await_order_to_go_on() {
  asio::signal_set orders(co_await asio::this_coro::executor, SIGTERM);
  std::cout << "idle " << getpid() << std::endl;
  co_await orders.async_wait(asio::use_awaitable);
}

asio::awaitable<int> body(weft::communicator comm, std::vector<std::string>) {
  using namespace asio::experimental::awaitable_operators;
  for (const auto route : {weft::route::inlined, weft::route::host, weft::route::device, weft::route::pair})
    co_await talk_to_all(comm, route);
  if (!is_connected(comm)) throw std::logic_error("a link or a communicator is missing");
  const auto first = co_await (await_what_never_comes(comm) || await_order_to_go_on());
  const bool ordered = first.index() == 1;
  std::cout << (ordered ? "going on" : "received what was never sent") << std::endl;
  co_return ordered ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  return weft::run(argc, argv, body);
}
