// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/coro/awaitable_traits.hpp>
#include <weft/coro/child.hpp>
#include <weft/coro/child_list.hpp>

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace weft::coro {
namespace detail {

/// Counts the children that have not ended, and the starter that has not started them all: whoever arrives last goes on
/// with the parent.
class arrival_count {
 public:
  explicit arrival_count(std::size_t children) noexcept : missing_(children + 1) {}

  /// Called before any child starts; the children read it only after all have been counted.
  void set_parent(std::coroutine_handle<> parent) noexcept { parent_ = parent; }

  /// Unless this call is the last, the parent may have gone on and destroyed this object when it returns.
  [[nodiscard]] bool is_last() noexcept {
    // Release: what the child wrote (its outcome) is visible to whoever arrives last. Acquire: the last sees what all
    // others wrote. The decrements form one release sequence, so no fence per child is needed.
    return missing_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }

  std::coroutine_handle<> arrive() noexcept { return is_last() ? parent_ : std::noop_coroutine(); }

 private:
  std::atomic<std::size_t> missing_;
  std::coroutine_handle<> parent_;
};

template <class T>
using counted_child = child<T, arrival_count>;

/// The children of `when_all(a, b, ...)`.
template <class... Ts>
class child_pack {
 public:
  explicit child_pack(counted_child<Ts>... children) noexcept : children_(std::move(children)...) {}

  [[nodiscard]] std::size_t size() const noexcept { return sizeof...(Ts); }

  void start(arrival_count& count) {
    std::apply([&](auto&... each) { (each.start(count), ...); }, children_);
  }

  auto take() {
    return std::apply(
        [](auto&... each) {
          (each.result().rethrow_if_failed(), ...);
          return std::tuple<typename outcome<Ts>::stored_type...>(each.result().take_stored()...);
        },
        children_);
  }

 private:
  std::tuple<counted_child<Ts>...> children_;
};

/// The children of `when_all(vector)`.
template <class T>
class child_sequence : public child_list<T, arrival_count> {
 public:
  auto take() {
    this->for_each_result([](outcome<T>& each) { each.rethrow_if_failed(); });
    if constexpr (!std::is_void_v<T>) {
      std::vector<typename outcome<T>::stored_type> values;
      values.reserve(this->size());
      this->for_each_result([&](outcome<T>& each) { values.push_back(each.take_stored()); });
      return values;
    }
  }
};

template <class Children>
class when_all_awaiter {
 public:
  explicit when_all_awaiter(Children&& children) noexcept : children_(std::move(children)), count_(children_.size()) {}

  [[nodiscard]] bool await_ready() const noexcept { return false; }

  bool await_suspend(std::coroutine_handle<> parent) {
    count_.set_parent(parent);
    children_.start(count_);
    // Where all children ended at once, the parent goes on from here, and is not resumed inside of a child.
    return !count_.is_last();
  }

  auto await_resume() { return children_.take(); }

 private:
  Children children_;
  arrival_count count_;
};

template <class Children>
class [[nodiscard]] when_all_operation {
 public:
  explicit when_all_operation(Children children) noexcept : children_(std::move(children)) {}
  auto operator co_await() && noexcept { return when_all_awaiter<Children>(std::move(children_)); }

 private:
  Children children_;
};

}  // namespace detail

/// Awaits all: `auto [a, b] = co_await when_all(f(), g());` starts each in the order given, and resumes once all have
/// ended, on the thread where the last one did. The result is a tuple, with std::monostate for void and
/// std::reference_wrapper for references.
///
/// If any fails, the exception of the first in the order given is rethrown, also only after all have ended: none still
/// runs when the error is seen. Rvalues are moved in; lvalues are awaited in place and have to outlive the wait.
/// Allocates one coroutine frame for each awaitable, and nothing else.
template <class... As>
requires(awaitable<As>&&...) auto when_all(As&&... awaitables) {
  using children = detail::child_pack<await_result_t<As>...>;
  return detail::when_all_operation(
      children(detail::make_child<detail::arrival_count, As>(std::forward<As>(awaitables))...));
}

/// Awaits all elements of a vector. The result is a vector in the same order (void where the elements give void), its
/// storage being the only allocation beside the coroutine frames.
template <class A>
requires awaitable<A>
auto when_all(std::vector<A> awaitables) {
  detail::child_sequence<await_result_t<A>> children;
  for (A& each : awaitables) children.push_back(detail::make_child<detail::arrival_count, A>(std::move(each)));
  return detail::when_all_operation(std::move(children));
}

}  // namespace weft::coro
