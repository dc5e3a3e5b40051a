// SPDX-License-Identifier: Apache-2.0
#include "../support/worker_thread.hpp"

#include <weft/coro/sync_wait.hpp>
#include <weft/coro/task.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace {

using weft::coro::sync_wait;
using weft::coro::task;

struct labelled {
  std::string label;
  int number;
};

class alive_guard {
 public:
  explicit alive_guard(int& count) : count_(&count) { ++*count_; }
  alive_guard(alive_guard&& other) noexcept : count_(std::exchange(other.count_, nullptr)) {}
  alive_guard& operator=(alive_guard&&) = delete;
  ~alive_guard() {
    if (count_ != nullptr) --*count_;
  }

 private:
  int* count_;
};

task<int> number(int value) {
  co_return value;
}
task<int> sum_below(int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += co_await number(i);
  co_return sum;
}
task<> mark(bool& flag) {
  flag = true;
  co_return;
}
task<int> hold(alive_guard) {
  co_return 1;
}
task<int> fail(const char* why) {
  throw std::runtime_error(why);
  co_return 0;
}

static_assert(weft::coro::awaitable<task<int>>);
static_assert(!weft::coro::awaitable<task<int>&>, "a task is awaited as an rvalue");
static_assert(!std::is_copy_constructible_v<task<int>> && std::is_nothrow_move_constructible_v<task<int>>);
static_assert(std::is_same_v<weft::coro::await_result_t<task<int&>>, int&>);

TEST_CASE("a task does not start before it is awaited") {
  bool started = false;
  task<> lazy = mark(started);
  CHECK_FALSE(started);
  sync_wait(std::move(lazy));
  CHECK(started);
}

TEST_CASE("a task awaits others and uses their values") {
  CHECK(sync_wait(sum_below(100)) == 4950);
}

TEST_CASE("an exception leaves a task at the await and can be handled there") {
  auto handle = []() -> task<std::string> {
    std::string caught;
    try {
      const int value = co_await fail("no luck");
      caught = std::to_string(value);
    } catch (const std::runtime_error& error) {
      caught = error.what();
    }
    co_return caught;
  };
  CHECK(sync_wait(handle()) == "no luck");
}

TEST_CASE("a task returns values that can only be moved, values with members, and references") {
  auto boxed = []() -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(7); };
  CHECK(*sync_wait(boxed()) == 7);

  auto aggregate = []() -> task<labelled> { co_return labelled{std::string(100, 'x'), 3}; };
  auto passing_on = [&aggregate]() -> task<labelled> {
    labelled got = co_await aggregate();
    ++got.number;
    co_return got;
  };
  const labelled got = sync_wait(passing_on());
  CHECK(got.label == std::string(100, 'x'));
  CHECK(got.number == 4);

  int variable = 1;
  auto reference = [](int& to) -> task<int&> { co_return to; };
  sync_wait(reference(variable)) = 5;
  CHECK(variable == 5);
}

TEST_CASE("a task that is never awaited frees what it holds") {
  int alive = 0;
  {
    const task<int> unused = hold(alive_guard(alive));
    CHECK(alive == 1);
  }
  CHECK(alive == 0);
}

TEST_CASE("assigning to a task frees the one that it held") {
  int alive = 0;
  task<int> kept = hold(alive_guard(alive));
  kept = number(2);
  CHECK(alive == 0);
  CHECK(sync_wait(std::move(kept)) == 2);
}

TEST_CASE("destroying a task that waits destroys the tasks that it waits for") {
  int alive = 0;
  auto inner = [](alive_guard) -> task<> { co_await std::suspend_always(); };
  auto outer = [&inner, &alive]() -> task<> { co_await inner(alive_guard(alive)); };
  {
    task<> waiting = outer();
    auto awaiter = std::move(waiting).operator co_await();
    awaiter.await_suspend(std::noop_coroutine()).resume();
    CHECK(alive == 1);
  }
  CHECK(alive == 0);
}

TEST_CASE("a task goes on in the thread that completes what it awaits") {
  weft::test::worker_thread worker;
  auto hop_twice = [&worker]() -> task<bool> {
    const auto first = co_await worker.hop();
    const auto second = co_await worker.hop();
    co_return first == worker.id() && second == worker.id();
  };
  CHECK(sync_wait(hop_twice()));
}

}  // namespace
