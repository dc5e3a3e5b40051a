// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/coro/outcome.hpp>

#include <cassert>
#include <coroutine>
#include <utility>

namespace weft::coro {

/// A lazy coroutine: it starts when it is awaited, and resumes its awaiter when it ends. `T` may be void, movable only,
/// or an lvalue reference. The task owns its frame; destroying a task that waits destroys what it waits for.
///
/// It is awaited once, as an rvalue: `co_await f()` or `co_await std::move(kept)`.
///
/// Task and awaiter hand over by symmetric transfer. Compilers make it a tail call only when they optimize
/// (-foptimize-sibling-calls) and without sanitizers: in other builds, a loop that awaits tens of thousands of tasks,
/// none of which ever suspends, overflows the stack.
template <class T = void>
class [[nodiscard]] task {
 public:
  class promise_type;
  using value_type = T;  ///< what awaiting yields

  /// The coroutine goes along; what was moved from can only be destroyed or assigned to.
  /// @{
  task(task&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  task& operator=(task&& other) noexcept {
    task old(std::move(*this));
    frame_ = std::exchange(other.frame_, nullptr);
    return *this;
  }
  /// @}
  ~task() {
    if (frame_) frame_.destroy();
  }

  /// Starts the coroutine and waits for its end; yields its value, or throws its exception.
  auto operator co_await() && noexcept {
    assert(frame_ && !frame_.done() && "a task is awaited once, and not after it was moved from");
    return awaiter(frame_);
  }

 private:
  using frame = std::coroutine_handle<promise_type>;

  class awaiter {
   public:
    explicit awaiter(frame child) noexcept : child_(child) {}

    [[nodiscard]] bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> parent) noexcept {
      child_.promise().parent_ = parent;
      return child_;
    }
    T await_resume() { return child_.promise().result().take(); }

   private:
    frame child_;
  };

  explicit task(frame own) noexcept : frame_(own) {}

  frame frame_;
};

template <class T>
class task<T>::promise_type : public outcome_promise<T> {
 public:
  task get_return_object() noexcept { return task(frame::from_promise(*this)); }
  [[nodiscard]] std::suspend_always initial_suspend() const noexcept { return {}; }
  [[nodiscard]] auto final_suspend() const noexcept { return final_awaiter(); }

 private:
  friend class task;

  class final_awaiter {
   public:
    final_awaiter() noexcept {}
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(frame ended) const noexcept { return ended.promise().parent_; }
    void await_resume() const noexcept {}
  };

  std::coroutine_handle<> parent_;
};

}  // namespace weft::coro
