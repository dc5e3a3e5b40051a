// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/coro/awaitable_traits.hpp>
#include <weft/coro/outcome.hpp>

#include <concepts>
#include <coroutine>
#include <utility>

namespace weft::coro::detail {

/// What a child reports to when it has ended: `arrive` returns the coroutine to go on with. The child, and all that
/// stands around it, may be gone once `arrive` has reported.
template <class L>
concept latch = requires(L& who) {
  { who.arrive() }
  noexcept->std::convertible_to<std::coroutine_handle<>>;
};

template <class T, latch Latch>
class child_list;

/// A coroutine that awaits one awaitable on behalf of code that cannot (`sync_wait`), or that awaits several at once
/// (`when_all`). It starts on demand and keeps the outcome.
template <class T, latch Latch>
class child {
 public:
  class promise_type;

  child(child&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  child& operator=(child&&) = delete;
  ~child() {
    if (frame_) frame_.destroy();
  }

  /// The latch is told once. It must outlive the wait of the child.
  void start(Latch& report_to) {
    frame_.promise().latch_ = &report_to;
    frame_.resume();
  }

  /// Valid once the latch was told.
  [[nodiscard]] outcome<T>& result() noexcept { return frame_.promise().result(); }

 private:
  friend class child_list<T, Latch>;
  using frame = std::coroutine_handle<promise_type>;

  explicit child(frame own) noexcept : frame_(own) {}

  frame frame_;
};

template <class T, latch Latch>
class child<T, Latch>::promise_type : public outcome_promise<T> {
 public:
  child get_return_object() noexcept { return child(frame::from_promise(*this)); }
  [[nodiscard]] std::suspend_always initial_suspend() const noexcept { return {}; }
  [[nodiscard]] auto final_suspend() const noexcept { return final_awaiter(); }

 private:
  friend class child;
  friend class child_list<T, Latch>;

  class final_awaiter {
   public:
    final_awaiter() noexcept {}
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(frame ended) const noexcept { return ended.promise().latch_->arrive(); }
    void await_resume() const noexcept {}
  };

  Latch* latch_ = nullptr;
  frame next_;  // in a child_list
};

/// `A` is a reference where the caller keeps the awaitable alive, and a value where the child owns it.
template <latch Latch, class A>
child<await_result_t<A>, Latch> make_child(A awaitable) {
  // Named, because g++ 12 copies an awaiter that `co_await` finds through any other lvalue expression.
  auto&& awaiter = get_awaiter(std::forward<A>(awaitable));
  co_return co_await awaiter;
}

}  // namespace weft::coro::detail
