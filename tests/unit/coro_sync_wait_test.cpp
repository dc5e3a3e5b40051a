// SPDX-License-Identifier: Apache-2.0
#include "../support/worker_thread.hpp"

#include <weft/coro/sync_wait.hpp>
#include <weft/coro/task.hpp>

#include <doctest/doctest.h>

#include <coroutine>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace {

using weft::coro::sync_wait;
using weft::coro::task;

/// An awaiter that is complete at once, and counts how often it was asked for its result.
class ready_value {
 public:
  explicit ready_value(std::string value) : value_(std::move(value)) {}
  [[nodiscard]] bool await_ready() const { return true; }
  void await_suspend(std::coroutine_handle<>) {}
  std::string&& await_resume() {
    ++resumed;
    return std::move(value_);
  }
  int resumed = 0;

 private:
  std::string value_;
};

/// Lazily started: gives its awaiter, which cannot be moved, only as an rvalue.
class lazy_operation {
 public:
  class pinned_awaiter {
   public:
    explicit pinned_awaiter(int value) : value_(value) {}
    pinned_awaiter(const pinned_awaiter&) = delete;
    pinned_awaiter& operator=(const pinned_awaiter&) = delete;
    [[nodiscard]] bool await_ready() const { return false; }
    // Says "do not suspend": the coroutine goes on at once.
    bool await_suspend(std::coroutine_handle<>) { return false; }
    [[nodiscard]] int await_resume() const { return value_; }

   private:
    int value_;
  };

  explicit lazy_operation(int value) : value_(value) {}
  pinned_awaiter operator co_await() && { return pinned_awaiter(value_); }

 private:
  int value_;
};

class free_style {};
ready_value operator co_await(free_style) {
  return ready_value("free operator");
}

/// Gives its awaiter by reference.
class awaiter_within {
 public:
  ready_value& operator co_await() { return value_; }
  [[nodiscard]] int resumed() const { return value_.resumed; }

 private:
  ready_value value_ = ready_value("within");
};

static_assert(std::is_same_v<weft::coro::await_result_t<ready_value&>, std::string>, "rvalue references are kept");
static_assert(!weft::coro::awaitable<int>);
static_assert(!weft::coro::awaitable<lazy_operation&>);

TEST_CASE("sync_wait takes awaiters, and objects with a member or a free operator co_await") {
  CHECK(sync_wait(ready_value("awaiter")) == "awaiter");
  CHECK(sync_wait(lazy_operation(4)) == 4);
  CHECK(sync_wait(free_style()) == "free operator");
}

TEST_CASE("sync_wait awaits an lvalue in place") {
  ready_value value("here");
  CHECK(sync_wait(value) == "here");
  CHECK(value.resumed == 1);

  awaiter_within outer;
  CHECK(sync_wait(outer) == "within");
  CHECK(outer.resumed() == 1);
}

TEST_CASE("sync_wait rethrows what the awaitable throws") {
  auto failing = []() -> task<int> {
    throw std::invalid_argument("bad");
    co_return 0;
  };
  CHECK_THROWS_WITH_AS(sync_wait(failing()), "bad", std::invalid_argument);
}

TEST_CASE("sync_wait blocks until another thread completes the awaitable") {
  weft::test::worker_thread worker;
  bool written = false;
  auto write_there = [&]() -> task<> {
    co_await worker.hop();
    written = true;
  };
  sync_wait(write_there());
  CHECK(written);
  CHECK(sync_wait(worker.hop()) == worker.id());
}

TEST_CASE("an exception of another thread reaches the thread that waits") {
  weft::test::worker_thread worker;
  auto fail_there = [&worker]() -> task<> {
    co_await worker.hop();
    throw std::runtime_error("from afar");
  };
  CHECK_THROWS_WITH_AS(sync_wait(fail_there()), "from afar", std::runtime_error);
}

TEST_CASE("100,000 waits, each for another thread, lose no wake-up and no value") {
  weft::test::worker_thread worker;
  auto echo = [&worker](int value) -> task<std::unique_ptr<int>> {
    co_await worker.hop();
    co_return std::make_unique<int>(value);
  };
  int wrong = 0;
  for (int i = 0; i < 100'000; ++i)
    if (*sync_wait(echo(i)) != i) ++wrong;
  CHECK(wrong == 0);
}

}  // namespace
