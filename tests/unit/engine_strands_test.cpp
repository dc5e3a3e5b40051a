// SPDX-License-Identifier: Apache-2.0
// Engines and operations on strands of a server that several threads run: what a strand protects stays protected.
#include "shared_executor.hpp"

#include <doctest/doctest.h>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <span>
#include <vector>

namespace asio = boost::asio;
using weft::testing::group;
using weft::testing::threaded_context;

namespace {

constexpr std::array routes{weft::route::inlined, weft::route::host, weft::route::device, weft::route::pair};

/// What else a server does meanwhile.
asio::awaitable<void> tick(std::atomic<bool>& stopped, std::atomic<int>& ticks) {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  while (!stopped) {
    timer.expires_after(std::chrono::milliseconds(1));
    co_await timer.async_wait(asio::use_awaitable);
    ++ticks;
  }
}

using server_strand = asio::strand<asio::io_context::executor_type>;

/// State that only its strand protects; a handler elsewhere is a data race besides being counted.
struct session {
  explicit session(const server_strand& own) : strand(own) {}

  void step();

  server_strand strand;
  int steps = 0;
  int strays = 0;  // steps outside of the strand
  int wrong = 0;   // messages that are not what was sent
};

// Not a part of the coroutines that call it. In their loops clang 16 takes the address of what is local to a
// thread once, also where they go on in another thread (https://github.com/llvm/llvm-project/issues/63022).
[[gnu::noinline]] void session::step() {
  ++steps;
  strays += !strand.running_in_this_thread();
}

constexpr int rounds = 50;

asio::awaitable<void> say(weft::communicator comm, int peer, weft::route route, session& own) {
  for (int i = 0; i < rounds; ++i) {
    const std::vector<int> text(100, i);
    co_await comm.send(text, weft::to(peer, 1).via(route));
    own.step();
  }
}

asio::awaitable<void> listen(weft::communicator comm, int peer, session& own) {
  for (int i = 0; i < rounds; ++i) {
    std::vector<int> text(100);
    co_await comm.recv(text, weft::from(peer, 1));
    own.step();
    own.wrong += text != std::vector<int>(100, i);
  }
}

/// Two ranks converse; each says and listens on a strand, by two coroutines that share what the strand protects.
void converse(const group& two, weft::route route, const std::array<session*, 2>& sessions) {
  std::vector<std::future<void>> ended;
  for (const int rank : {0, 1}) {
    session& own = *sessions[static_cast<std::size_t>(rank)];
    const weft::communicator& comm = two.communicators[static_cast<std::size_t>(rank)];
    ended.push_back(asio::co_spawn(own.strand, say(comm, 1 - rank, route, own), asio::use_future));
    ended.push_back(asio::co_spawn(own.strand, listen(comm, 1 - rank, own), asio::use_future));
  }
  for (auto& one : ended) one.get();
}

}  // namespace

TEST_CASE("an engine on a strand of a server's context completes in that strand, and the server's work goes on") {
  std::atomic<bool> stopped = false;
  std::atomic<int> ticks = 0;
  threaded_context server;
  auto other_work = asio::co_spawn(server.context, tick(stopped, ticks), asio::use_future);
  session one(asio::make_strand(server.context.get_executor()));
  group two(2, one.strand);
  for (const weft::route route : routes) {
    CAPTURE(weft::name(route));
    converse(two, route, {&one, &one});
    CHECK(one.strays == 0);
    CHECK(one.wrong == 0);
  }
  CHECK(one.steps == static_cast<int>(routes.size()) * 4 * rounds);
  two.close();
  stopped = true;
  other_work.get();
  CHECK(ticks > 0);
}

TEST_CASE("operations that a strand's coroutines start complete in that strand, whatever the engine runs on") {
  threaded_context server;
  group two(2, server.context.get_executor());
  session left(asio::make_strand(server.context.get_executor()));
  session right(asio::make_strand(server.context.get_executor()));
  for (const weft::route route : routes) {
    CAPTURE(weft::name(route));
    converse(two, route, {&left, &right});
    CHECK(left.strays == 0);
    CHECK(right.strays == 0);
    CHECK(left.wrong + right.wrong == 0);
  }
  CHECK(left.steps == right.steps);
  two.close();
}

TEST_CASE("a handler that is bound to a strand runs in it") {
  threaded_context server;
  group two(2, server.context.get_executor());
  session own(asio::make_strand(server.context.get_executor()));
  std::promise<void> all;
  std::vector<int> arrived(rounds, -1);
  const auto count = [&](const boost::system::error_code& code, const auto&) {
    own.wrong += code.failed();
    own.step();
    if (own.steps == 2 * rounds) all.set_value();
  };
  std::vector<int> numbers(rounds);
  for (std::size_t i = 0; i < rounds; ++i) {
    numbers[i] = static_cast<int>(i);
    two.communicators[1].recv(std::span(&arrived[i], 1), weft::from(0, i))(asio::bind_executor(own.strand, count));
    two.communicators[0].send(std::span(&numbers[i], 1), weft::to(1, i))(asio::bind_executor(own.strand, count));
  }
  all.get_future().get();
  CHECK(own.strays == 0);
  CHECK(own.wrong == 0);
  CHECK(arrived == numbers);
  two.close();
}
