// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <coroutine>
#include <type_traits>
#include <utility>

namespace weft::coro {

/// What `co_await` drives: the three members of the language's protocol.
template <class A>
concept awaiter = requires(A& a, std::coroutine_handle<> coroutine) {
  { a.await_ready() } -> std::convertible_to<bool>;
  a.await_suspend(coroutine);
  a.await_resume();
};

namespace detail {

template <class A>
concept has_member_co_await = requires(A&& a) {
  std::forward<A>(a).operator co_await();
};

template <class A>
concept has_free_co_await = requires(A&& a) {
  operator co_await(std::forward<A>(a));
};

template <class A>
decltype(auto) get_awaiter(A&& a) {
  if constexpr (has_member_co_await<A>) {
    return std::forward<A>(a).operator co_await();
  } else if constexpr (has_free_co_await<A>) {
    return operator co_await(std::forward<A>(a));
  } else {
    return std::forward<A>(a);
  }
}

template <class A>
using awaiter_of = std::remove_reference_t<decltype(get_awaiter(std::declval<A>()))>;

// An rvalue reference would outlive what it refers to as soon as it is kept: it becomes a value.
template <class T>
using kept_type = std::conditional_t<std::is_rvalue_reference_v<T>, std::remove_cvref_t<T>, T>;

}  // namespace detail

/// What may stand behind `co_await` in any coroutine that transforms nothing. `A` is as in a forwarding reference:
/// `awaitable<task<int>>` is about rvalues, `awaitable<task<int>&>` about lvalues.
template <class A>
concept awaitable = awaiter<detail::awaiter_of<A>>;

/// The type of `co_await std::declval<A>()`, where an rvalue reference has become a value.
template <class A>
using await_result_t = detail::kept_type<decltype(std::declval<detail::awaiter_of<A>&>().await_resume())>;

}  // namespace weft::coro
