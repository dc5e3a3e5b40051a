// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/error_code.hpp>
#include <boost/version.hpp>

#include <concepts>
#include <exception>
#include <utility>

namespace weft::coro {

/// A result that knows which exception its failure is. Awaiting such an operation in asio::awaitable throws that
/// exception instead of a bare boost::system::system_error.
template <class T>
concept raising_result = requires(const T& result, boost::system::error_code code) {
  { T::raises } -> std::convertible_to<bool>;
  result.raise(code);
};

}  // namespace weft::coro

// Asio has no public customization point for the exception of a failed co_await, so these specialize two of its
// internals, as they are in the Boost versions named. Elsewhere the error is Asio's own, with the same code.
#if BOOST_VERSION >= 107900 && BOOST_VERSION <= 108600
namespace boost::asio::detail {

template <typename Executor, weft::coro::raising_result T>
class awaitable_async_op_handler<void(boost::system::error_code, T), Executor> : public awaitable_thread<Executor> {
 public:
  struct result_type {
    boost::system::error_code* code;
    T* value;
  };

  awaitable_async_op_handler(awaitable_thread<Executor>* caller, result_type& result)
      : awaitable_thread<Executor>(std::move(*caller)), result_(result) {}

  void operator()(boost::system::error_code code, T value) {
    result_.code = &code;
    result_.value = &value;
    this->entry_point()->top_of_stack_->attach_thread(this);
    this->entry_point()->top_of_stack_->clear_cancellation_slot();
    this->pump();
  }

  static T resume(result_type& result) {
    if (*result.code) result.value->raise(*result.code);
    return std::move(*result.value);
  }

 private:
  result_type& result_;
};

template <typename Executor, weft::coro::raising_result T>
class awaitable_handler<Executor, boost::system::error_code, T> : public awaitable_handler_base<Executor, T> {
 public:
  using awaitable_handler_base<Executor, T>::awaitable_handler_base;

  void operator()(const boost::system::error_code& code, T result) {
    this->frame()->attach_thread(this);
    if (code) {
      try {
        result.raise(code);
      } catch (...) {
        this->frame()->set_except(std::current_exception());
      }
    } else {
      this->frame()->return_value(std::move(result));
    }
    this->frame()->clear_cancellation_slot();
    this->frame()->pop_frame();
    this->pump();
  }
};

}  // namespace boost::asio::detail
#endif
