// SPDX-License-Identifier: Apache-2.0
// One rank of the job of namespaces_test, whose last rank loses its network: `unplugged_rank LINK_TIMEOUT_MS`.
//
// Says "connected" once all ranks have talked over all links, then how each other rank was lost. Rank 0 goes on
// sending meanwhile, and the others are silent, so that the kernel finds out in both ways: by bytes that nobody
// acknowledges, and by probes that nobody answers.
#include <weft/weft.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <span>
#include <string>
#include <vector>

namespace asio = boost::asio;

namespace {

enum : std::uint64_t { rounds, heartbeats, nothing };
constexpr std::chrono::milliseconds between_heartbeats{50};

/// Every rank up to `last` exchanges a large message with every other.
asio::awaitable<void> talk(weft::communicator comm, int last, weft::route route) {
  const std::vector<int> mine(100'000, comm.rank());
  std::vector<std::vector<int>> theirs(static_cast<std::size_t>(last + 1), std::vector<int>(mine.size()));
  weft::batch all;
  for (int peer = 0; peer <= last; ++peer) {
    if (peer == comm.rank()) continue;
    all.send(mine, weft::to(peer, rounds).via(route));
    all.recv(theirs[static_cast<std::size_t>(peer)], weft::from(peer, rounds));
  }
  co_await comm.batch(all);
}

void print_end(int peer, const boost::system::error_code& code) {
  std::cout << "rank " << peer << ": " << code.message() << std::endl;
}

asio::awaitable<void> send_until_lost(weft::communicator comm, int peer) {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  const int beat = 1;
  for (boost::system::error_code code; !code;) {
    timer.expires_after(between_heartbeats);
    co_await timer.async_wait(asio::use_awaitable);
    auto [problem, result] =
        co_await comm.send(std::span(&beat, 1), weft::to(peer, heartbeats))(asio::as_tuple(asio::use_awaitable));
    code = problem;
    if (code) print_end(peer, code);
  }
}

asio::awaitable<void> wait_until_lost(weft::communicator comm, int peer) {
  int never = 0;
  auto [code, result] =
      co_await comm.recv(std::span(&never, 1), weft::from(peer, nothing))(asio::as_tuple(asio::use_awaitable));
  print_end(peer, code);
}

asio::awaitable<void> live(weft::engine& one) {
  weft::communicator comm = co_await one.join();
  const int last = comm.size() - 1;
  co_await talk(comm, last, weft::route::host);
  co_await talk(comm, last, weft::route::device);
  std::cout << "connected" << std::endl;
  if (comm.rank() == 0) {
    co_await send_until_lost(comm, last);
  } else if (comm.rank() < last) {
    co_await wait_until_lost(comm, last);
  } else {
    for (int peer = 0; peer < last; ++peer) co_await wait_until_lost(comm, peer);
  }
  if (comm.rank() < last) {
    co_await talk(comm, last - 1, weft::route::host);
    co_await talk(comm, last - 1, weft::route::device);
    std::cout << "the others go on" << std::endl;
  }
  co_await one.close();
  std::cout << "closed" << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    weft::engine_options options = weft::options_from_environment();
    if (argc > 1) options.link_timeout = std::chrono::milliseconds(std::stoi(argv[1]));
    asio::io_context context(1);
    weft::engine one(context.get_executor(), options);
    std::exception_ptr problem;
    asio::co_spawn(context, live(one), [&](const std::exception_ptr& thrown) { problem = thrown; });
    context.run();
    if (problem) std::rethrow_exception(problem);
    return 0;
  } catch (const std::exception& problem) {
    std::cout << problem.what() << std::endl;
    return 1;
  }
}
