// SPDX-License-Identifier: Apache-2.0
// Operations with every kind of waiter: completion tokens, task types, executors, allocators, cancellation.
#include "ranks.hpp"

#include <weft/coro/sync_wait.hpp>
#include <weft/coro/task.hpp>
#include <weft/coro/when_all.hpp>
#include <weft/engine/objects.hpp>

#include <doctest/doctest.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <future>
#include <optional>
#include <stdexcept>
#include <vector>

namespace asio = boost::asio;
using weft::testing::run_ranks;

namespace {

/// Counts what is allocated through it.
template <class T>
struct counting_allocator {
  using value_type = T;
  int* count;

  explicit counting_allocator(int* where) : count(where) {}
  template <class U>
  counting_allocator(const counting_allocator<U>& other) : count(other.count) {}
  T* allocate(std::size_t n) {
    ++*count;
    return std::allocator<T>().allocate(n);
  }
  void deallocate(T* memory, std::size_t n) { std::allocator<T>().deallocate(memory, n); }
  friend bool operator==(const counting_allocator&, const counting_allocator&) = default;
};

/// Runs two sends to oneself and their receives with `use` on an engine of its own.
template <class Use>
void alone(Use use) {
  const auto body = [&use](weft::communicator comm) -> asio::awaitable<void> { co_await use(comm); };
  run_ranks(1, body);
}

}  // namespace

TEST_CASE("an operation that is not started does nothing") {
  alone([](weft::communicator comm) -> asio::awaitable<void> {
    const int value = 1;
    { auto never = comm.send(std::span(&value, 1), weft::to(0, 1)); }
    CHECK(comm.stats().unmatched == 0);
    co_return;
  });
}

TEST_CASE("operations are awaited in asio::awaitable, bare and with use_awaitable") {
  alone([](weft::communicator comm) -> asio::awaitable<void> {
    const int value = 7;
    int got = 0;
    co_await comm.send(std::span(&value, 1), weft::to(0, 1));
    const auto envelope = co_await comm.recv(std::span(&got, 1), weft::from(0, 1))(asio::use_awaitable);
    CHECK(got == 7);
    CHECK(envelope.bytes == sizeof got);
  });
}

TEST_CASE("a failed operation throws weft::error with its details, bare and with use_awaitable") {
  alone([](weft::communicator comm) -> asio::awaitable<void> {
    const int value = 7;
    try {
      co_await comm.send(std::span(&value, 1), weft::to(5, 1));
      FAIL("rank 5 does not exist");
    } catch (const weft::error& problem) {
      CHECK(problem.code() == weft::errc::rank_out_of_range);
      CHECK(problem.details().peer == 5);
      CHECK(std::string(problem.what()).find("send to rank 5, tag 1, 4 bytes of i32") != std::string::npos);
    }
    try {
      co_await comm.send(std::span(&value, 1), weft::to(-2, 1))(asio::use_awaitable);
      FAIL("rank -2 does not exist");
    } catch (const weft::error& problem) {
      CHECK(problem.details().peer == -2);
    }
  });
}

TEST_CASE("as_tuple gives the code and the details instead of throwing") {
  alone([](weft::communicator comm) -> asio::awaitable<void> {
    const int value = 7;
    auto [code, result] = co_await comm.send(std::span(&value, 1), weft::to(9, 3))(asio::as_tuple(asio::use_awaitable));
    CHECK(code == weft::errc::rank_out_of_range);
    CHECK(result.details.peer == 9);
    CHECK(result.details.tag == 3);
  });
}

TEST_CASE("a callback is called later, never inside of the call that starts the operation") {
  alone([](weft::communicator comm) -> asio::awaitable<void> {
    const int value = 7;
    bool started = false;
    bool called_later = false;
    comm.send(std::span(&value, 1), weft::to(0, 1))(
        [&](boost::system::error_code code, const weft::sent&) { called_later = started && !code; });
    started = true;
    int got = 0;
    co_await comm.recv(std::span(&got, 1), weft::from(0, 1));
    co_await asio::post(asio::use_awaitable);
    CHECK(called_later);
  });
}

TEST_CASE("what a callback throws comes out of the context's run, and everything else goes on") {
  asio::io_context context(1);
  weft::engine_options options;
  options.device = weft::device_choice::host;
  weft::engine one(context.get_executor(), options);
  int got = 0;
  const auto body = [&]() -> asio::awaitable<void> {
    weft::communicator comm = co_await one.join();
    const int value = 7;
    comm.send(std::span(&value, 1), weft::to(0, 1))(
        [](boost::system::error_code, const weft::sent&) { throw std::runtime_error("thrown by a callback"); });
    co_await comm.recv(std::span(&got, 1), weft::from(0, 1));
    co_await one.close();
  };
  asio::co_spawn(context, body(), asio::detached);
  CHECK_THROWS_WITH_AS(context.run(), "thrown by a callback", std::runtime_error);
  context.run();
  CHECK(got == 7);
}

TEST_CASE("deferred operations start when they are called") {
  alone([](weft::communicator comm) -> asio::awaitable<void> {
    const int value = 7;
    int got = 0;
    auto later = comm.send(std::span(&value, 1), weft::to(0, 1))(asio::deferred);
    CHECK(comm.stats().unmatched == 0);
    co_await std::move(later)(asio::use_awaitable);
    co_await comm.recv(std::span(&got, 1), weft::from(0, 1));
    CHECK(got == 7);
  });
}

TEST_CASE("another thread uses an engine through futures") {
  alone([](weft::communicator comm) -> asio::awaitable<void> {
    auto outside = std::async(std::launch::async, [comm] {
      const int value = 7;
      int got = 0;
      auto receiving = comm.recv(std::span(&got, 1), weft::from(0, 1))(asio::use_future);
      comm.send(std::span(&value, 1), weft::to(0, 1))(asio::use_future).get();
      receiving.get();
      return got;
    });
    while (outside.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
      co_await asio::post(asio::use_awaitable);
    CHECK(outside.get() == 7);
  });
}

TEST_CASE("a task type of one's own awaits operations without an allocation for each") {
  alone([](weft::communicator comm) -> asio::awaitable<void> {
    const auto work = [](weft::communicator with) -> weft::coro::task<int> {
      const int value = 7;
      int got = 0;
      co_await with.send(std::span(&value, 1), weft::to(0, 1));
      co_await with.recv(std::span(&got, 1), weft::from(0, 1));
      co_return got;
    };
    auto outside = std::async(std::launch::async, [&] { return weft::coro::sync_wait(work(comm)); });
    while (outside.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
      co_await asio::post(asio::use_awaitable);
    CHECK(outside.get() == 7);
  });
}

TEST_CASE("the handler's executor and allocator are used") {
  alone([](weft::communicator comm) -> asio::awaitable<void> {
    asio::thread_pool pool(1);
    int allocations = 0;
    std::promise<std::thread::id> ran;
    const int value = 7;
    auto handler = asio::bind_allocator(
        counting_allocator<void>(&allocations),
        asio::bind_executor(pool.get_executor(), [&](boost::system::error_code, const weft::sent&) {
          ran.set_value(std::this_thread::get_id());
        }));
    comm.send(std::span(&value, 1), weft::to(0, 1))(std::move(handler));
    int got = 0;
    co_await comm.recv(std::span(&got, 1), weft::from(0, 1));
    co_await asio::post(asio::use_awaitable);
    pool.join();
    CHECK(ran.get_future().get() != std::this_thread::get_id());
    CHECK(allocations >= 1);
  });
}

TEST_CASE("a cancelled receive completes, and the message goes to the next one") {
  alone([](weft::communicator comm) -> asio::awaitable<void> {
    asio::cancellation_signal signal;
    int lost = 0;
    boost::system::error_code ended;
    bool called = false;
    comm.recv(std::span(&lost, 1), weft::from(0, 1))(
        asio::bind_cancellation_slot(signal.slot(), [&](boost::system::error_code code, const weft::received&) {
          ended = code;
          called = true;
        }));
    signal.emit(asio::cancellation_type::terminal);
    CHECK_FALSE(called);
    const int value = 7;
    int got = 0;
    co_await comm.send(std::span(&value, 1), weft::to(0, 1));
    co_await comm.recv(std::span(&got, 1), weft::from(0, 1));
    CHECK(called);
    CHECK(ended == weft::errc::cancelled);
    CHECK(got == 7);
    CHECK(lost == 0);
  });
}

TEST_CASE("a receive loses a race against a timer without losing a message") {
  const auto body = [](weft::communicator comm) -> asio::awaitable<void> {
    using namespace asio::experimental::awaitable_operators;
    if (comm.rank() == 0) {
      asio::steady_timer soon(co_await asio::this_coro::executor, std::chrono::milliseconds(1));
      int lost = 0;
      auto first = co_await (comm.recv(std::span(&lost, 1), weft::from(1, 1))(asio::use_awaitable) ||
                             soon.async_wait(asio::use_awaitable));
      CHECK(first.index() == 1);
      const int go = 1;
      co_await comm.send(std::span(&go, 1), weft::to(1, 2));
      int got = 0;
      co_await comm.recv(std::span(&got, 1), weft::from(1, 1));
      CHECK(got == 9);
    } else {
      int go = 0;
      co_await comm.recv(std::span(&go, 1), weft::from(0, 2));
      const int value = 9;
      co_await comm.send(std::span(&value, 1), weft::to(0, 1));
    }
  };
  run_ranks(2, body);
}

TEST_CASE("a cancelled send that nobody has matched is withdrawn at its receiver") {
  const auto body = [](weft::communicator comm) -> asio::awaitable<void> {
    std::vector<int> large(100'000, comm.rank());
    const int go = 1;
    if (comm.rank() == 0) {
      for (const auto route : {weft::route::host, weft::route::device, weft::route::pair}) {
        asio::cancellation_signal signal;
        std::optional<boost::system::error_code> ended;
        comm.send(large, weft::to(1, 1).via(route))(asio::bind_cancellation_slot(
            signal.slot(), [&](boost::system::error_code code, const weft::sent&) { ended = code; }));
        signal.emit(asio::cancellation_type::terminal);
        while (!ended) co_await asio::post(asio::use_awaitable);
        CHECK(*ended == weft::errc::cancelled);
      }
      co_await comm.send(std::span(&go, 1), weft::to(1, 2));
      large.assign(large.size(), 5);
      co_await comm.send(large, weft::to(1, 1));
    } else {
      int gone = 0;
      co_await comm.recv(std::span(&gone, 1), weft::from(0, 2));
      co_await comm.recv(large, weft::from(0, 1));
      CHECK(large.front() == 5);
      CHECK(large.back() == 5);
      CHECK(comm.stats().unmatched == 0);
    }
  };
  run_ranks(2, body);
}
