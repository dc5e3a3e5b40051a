// SPDX-License-Identifier: Apache-2.0
// An operation starts once: what has a name does not compile where it is not moved, and what is moved twice is told so.
#include "ranks.hpp"

#include <weft/coro/sync_wait.hpp>
#include <weft/coro/task.hpp>
#include <weft/engine/error.hpp>
#include <weft/engine/objects.hpp>

#include <doctest/doctest.h>

#include <boost/asio/async_result.hpp>
#include <boost/asio/detached.hpp>

#include <concepts>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace asio = boost::asio;
using weft::errc;
using weft::testing::run_ranks;

namespace {

using operation = weft::receive_operation;
static_assert(std::invocable<operation, asio::detached_t>);
static_assert(!std::invocable<operation&, asio::detached_t>);
static_assert(asio::is_async_operation<operation>::value);
static_assert(!asio::is_async_operation<operation&>::value);
static_assert(weft::coro::awaitable<operation>);
static_assert(!weft::coro::awaitable<operation&>);

template <class Start>
void is_refused(const Start& start) {
  std::optional<weft::error> refused;
  try {
    start();
  } catch (const weft::error& problem) {
    refused = problem;
  }
  REQUIRE(refused);
  CHECK(refused->code() == errc::already_started);
  CHECK(std::string(refused->what()).find("make one operation for each co_await or call") != std::string::npos);
}

template <class Operation>
weft::coro::task<void> await(Operation& given) {
  co_await std::move(given);
}

/// Starts what is given, and twice more.
template <class Operation>
void starts_once(Operation given) {
  std::move(given)(asio::detached);
  is_refused([&] { std::move(given)(asio::detached); });
  is_refused([&] { weft::coro::sync_wait(await(given)); });
}

}  // namespace

TEST_CASE("an operation of any kind that is started again throws where it is started, and nothing else happens") {
  int value = 0;
  const auto body = [&value](weft::communicator comm) -> asio::awaitable<void> {
    const std::span<int> one(&value, 1);
    starts_once(comm.send(one, weft::to(0, 1)));
    starts_once(comm.recv(one, weft::from(0, 1)));
    weft::batch both;
    both.send(one, weft::to(0, 2)).recv(one, weft::from(0, 2));
    starts_once(comm.batch(both));
    starts_once(weft::send_objects(comm, weft::to(0, 3), 7));
    starts_once(weft::recv_objects<int>(comm, weft::from(0, 3)));
    starts_once(comm.split(0));
    CHECK(comm.stats().unmatched == 0);
    co_return;
  };
  run_ranks(1, body);
}

TEST_CASE("under asio::awaitable the error of a second start leaves the executor's run") {
  int value = 0;
  asio::io_context context(1);
  weft::engine one(context.get_executor(), weft::engine_options{});
  const auto work = [&]() -> asio::awaitable<void> {
    const weft::communicator comm = co_await one.join();
    auto sending = comm.send(std::span(&value, 1), weft::to(0, 1));
    co_await std::move(sending);
    co_await std::move(sending);
  };
  asio::co_spawn(context, work, asio::detached);
  is_refused([&] { context.run(); });
}

TEST_CASE("an operation of a communicator that belongs to no group throws") {
  int value = 0;
  const weft::communicator none;
  is_refused([&] { none.send(std::span(&value, 1), weft::to(0, 1))(asio::detached); });
  is_refused([&] { none.recv(std::span(&value, 1), weft::from(0, 1))(asio::detached); });
}
