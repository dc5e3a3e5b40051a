// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <concepts>
#include <cstddef>
#include <exception>
#include <functional>
#include <type_traits>
#include <utility>
#include <variant>

namespace weft::coro {

/// How a coroutine ended: with a value (`T` may be void or an lvalue reference), with an exception, or not yet.
template <class T>
class outcome {
  static_assert(!std::is_rvalue_reference_v<T>, "an rvalue reference cannot be kept: return a value");

  using stored = std::conditional_t<
      std::is_void_v<T>, std::monostate,
      std::conditional_t<std::is_lvalue_reference_v<T>, std::reference_wrapper<std::remove_reference_t<T>>, T>>;

 public:
  /// The value as a container holds it: a std::monostate for void, a std::reference_wrapper for a reference.
  using stored_type = stored;

  /// Ends with a value.
  template <class... Args>
  requires std::constructible_from<stored, Args...>
  void emplace(Args&&... args) { state_.template emplace<value_index>(std::forward<Args>(args)...); }

  /// Ends with the exception that is being handled: call it inside of a catch block.
  void capture_exception() noexcept { state_.template emplace<exception_index>(std::current_exception()); }

  /// Rethrows the exception that it ended with, if it did.
  void rethrow_if_failed() const {
    if (const auto* failure = std::get_if<exception_index>(&state_)) std::rethrow_exception(*failure);
  }

  /// Rethrows, or moves the value out. Precondition: the coroutine has ended.
  T take() {
    rethrow_if_failed();
    if constexpr (!std::is_void_v<T>) return static_cast<T>(take_stored());
  }

  /// Moves the value out. Precondition: the coroutine has ended with a value.
  stored_type take_stored() {
    assert(state_.index() == value_index && "the coroutine has not ended, or its result was taken");
    return std::get<value_index>(std::move(state_));
  }

 private:
  static constexpr std::size_t value_index = 1;
  static constexpr std::size_t exception_index = 2;

  std::variant<std::monostate, stored, std::exception_ptr> state_;
};

/// The part of a coroutine promise that records how the coroutine ended.
template <class T>
class outcome_promise {
 public:
  template <class U = T>
  requires std::constructible_from<typename outcome<T>::stored_type, U>
  void return_value(U&& value) { outcome_.emplace(std::forward<U>(value)); }

  void unhandled_exception() noexcept { outcome_.capture_exception(); }
  [[nodiscard]] outcome<T>& result() noexcept { return outcome_; }

 private:
  outcome<T> outcome_;
};

template <>
class outcome_promise<void> {
 public:
  void return_void() { outcome_.emplace(); }
  void unhandled_exception() noexcept { outcome_.capture_exception(); }
  [[nodiscard]] outcome<void>& result() noexcept { return outcome_; }

 private:
  outcome<void> outcome_;
};

}  // namespace weft::coro
