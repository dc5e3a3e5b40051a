// SPDX-License-Identifier: Apache-2.0
#include "../support/worker_thread.hpp"

#include <weft/coro/sync_wait.hpp>
#include <weft/coro/task.hpp>
#include <weft/coro/when_all.hpp>

#include <doctest/doctest.h>

#include <coroutine>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace {

using weft::coro::sync_wait;
using weft::coro::task;
using weft::coro::when_all;
using weft::test::worker_thread;

/// Suspends whoever awaits it until `open`.
class gate {
 public:
  [[nodiscard]] bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> coroutine) { waiting_ = coroutine; }
  void await_resume() const {}
  void open() { std::exchange(waiting_, nullptr).resume(); }
  [[nodiscard]] bool is_awaited() const { return waiting_ != nullptr; }

 private:
  std::coroutine_handle<> waiting_;
};

template <class T>
task<T> value_after(gate& at, T value) {
  co_await at;
  co_return std::move(value);
}

task<> fail_after(gate& at, std::string why) {
  co_await at;
  throw std::runtime_error(why);
}

task<int> on(worker_thread& worker, int value) {
  co_await worker.hop();
  co_return value;
}

/// Runs `body` up to its first suspension; `ended` is set when it is through.
task<> report_end(task<> body, bool& ended) {
  co_await std::move(body);
  ended = true;
}
void start(task<>& running) {
  // The awaiter of a task is a mere handle: the frame lives in `running`.
  auto awaiter = std::move(running).operator co_await();
  awaiter.await_suspend(std::noop_coroutine()).resume();
}

TEST_CASE("when_all gives the values in the order of its arguments, whatever ends first") {
  gate first;
  gate second;
  std::tuple<int, std::string> got;
  auto body = [&]() -> task<> {
    got = co_await when_all(value_after(first, 1), value_after<std::string>(second, "b"));
  };
  bool ended = false;
  task<> running = report_end(body(), ended);
  start(running);
  REQUIRE(first.is_awaited());
  REQUIRE(second.is_awaited());
  second.open();
  CHECK_FALSE(ended);
  first.open();
  CHECK(ended);
  CHECK(got == std::tuple<int, std::string>(1, "b"));
}

TEST_CASE("when_all rethrows the first exception in the order given, after all have ended") {
  gate first;
  gate second;
  gate third;
  std::string caught;
  auto body = [&]() -> task<> {
    try {
      co_await when_all(value_after(first, 1), fail_after(second, "second"), fail_after(third, "third"));
    } catch (const std::runtime_error& error) {
      caught = error.what();
    }
  };
  bool ended = false;
  task<> running = report_end(body(), ended);
  start(running);
  third.open();
  second.open();
  CHECK_FALSE(ended);
  first.open();
  CHECK(ended);
  CHECK(caught == "second");
}

TEST_CASE("when_all gives void as monostate and references as references, and moves what can only be moved") {
  int variable = 1;
  auto nothing = []() -> task<> { co_return; };
  auto reference = [](int& to) -> task<int&> { co_return to; };
  auto boxed = []() -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(9); };
  auto got = sync_wait(when_all(nothing(), reference(variable), boxed()));
  static_assert(std::is_same_v<std::tuple_element_t<0, decltype(got)>, std::monostate>);
  CHECK(&std::get<1>(got).get() == &variable);
  CHECK(*std::get<2>(got) == 9);
}

TEST_CASE("when_all awaits lvalues in place") {
  gate kept;
  auto body = [&]() -> task<> { co_await when_all(kept); };
  bool ended = false;
  task<> running = report_end(body(), ended);
  start(running);
  REQUIRE(kept.is_awaited());
  kept.open();
  CHECK(ended);
}

TEST_CASE("when_all of nothing, and of what is complete at once, does not suspend") {
  auto number = [](int value) -> task<int> { co_return value; };
  CHECK(sync_wait(when_all()) == std::tuple<>());
  CHECK(sync_wait(when_all(std::vector<task<int>>())).empty());
  CHECK(sync_wait(when_all(number(1), number(2))) == std::tuple(1, 2));
}

TEST_CASE("when_all of a vector gives a vector in the same order") {
  worker_thread workers[2];
  std::vector<task<int>> tasks;
  std::vector<int> expected;
  for (int i = 0; i < 1000; ++i) {
    tasks.push_back(on(workers[i % 2], i));
    expected.push_back(i);
  }
  CHECK(sync_wait(when_all(std::move(tasks))) == expected);
}

TEST_CASE("when_all of a vector rethrows the first exception in order after all have ended") {
  gate gates[3];
  std::string caught;
  auto body = [&]() -> task<> {
    std::vector<task<>> tasks;
    for (int i = 0; i < 3; ++i) tasks.push_back(fail_after(gates[i], std::to_string(i)));
    try {
      co_await when_all(std::move(tasks));
    } catch (const std::runtime_error& error) {
      caught = error.what();
    }
  };
  bool ended = false;
  task<> running = report_end(body(), ended);
  start(running);
  gates[2].open();
  gates[1].open();
  CHECK_FALSE(ended);
  gates[0].open();
  CHECK(ended);
  CHECK(caught == "0");
}

TEST_CASE("operations of when_all can be kept, moved and nested") {
  worker_thread worker;
  auto inner = when_all(on(worker, 1), on(worker, 2));
  const auto got = sync_wait(when_all(std::move(inner), on(worker, 3)));
  CHECK(std::get<0>(got) == std::tuple(1, 2));
  CHECK(std::get<1>(got) == 3);
}

TEST_CASE("when_all that is dropped before or during the wait frees its children") {
  auto shared = std::make_shared<int>(0);
  auto hold = [](std::shared_ptr<int>) -> task<> { co_await std::suspend_always(); };
  {
    auto unused = when_all(hold(shared), hold(shared));
    auto body = [&]() -> task<> {
      std::vector<task<>> tasks;
      tasks.push_back(hold(shared));
      co_await when_all(when_all(std::move(tasks)), hold(shared));
    };
    task<> waiting = body();
    start(waiting);
    CHECK(shared.use_count() == 5);
  }
  CHECK(shared.use_count() == 1);
}

TEST_CASE("100,000 rounds of children that end at the same time in two threads resume the parent once each") {
  worker_thread workers[2];
  long wrong = 0;
  auto rounds = [&]() -> task<> {
    for (int i = 0; i < 100'000; ++i) {
      const auto [a, b] = co_await when_all(on(workers[0], i), on(workers[1], -i));
      if (a != i || b != -i) ++wrong;
    }
  };
  sync_wait(rounds());
  CHECK(wrong == 0);
}

}  // namespace
