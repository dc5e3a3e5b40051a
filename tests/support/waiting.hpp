// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/engine/error.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

/// Ways to wait for operations that a test wants to look at, or end, while they are under way.
namespace weft::testing {

/// The code and the result of an operation, without an exception.
inline constexpr auto with_code = boost::asio::as_tuple(boost::asio::use_awaitable);

/// The loop gets its turn: `while (!condition) co_await turn();`.
inline boost::asio::awaitable<void> turn() {
  co_await boost::asio::post(boost::asio::use_awaitable);
}

/// The code that an operation ended with, and how to end it early.
template <class Operation>
struct running {
  explicit running(Operation operation) {
    std::move(operation)(boost::asio::bind_cancellation_slot(
        signal.slot(),
        [this](boost::system::error_code code, const typename Operation::result_type&) { ended = code; }));
  }
  boost::asio::cancellation_signal signal;
  std::optional<boost::system::error_code> ended;
};

/// A coroutine that runs at once and is destroyed with its handle, waiting or not.
struct held_coroutine {
  struct promise_type {
    held_coroutine get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
  std::coroutine_handle<promise_type> frame;
};

}  // namespace weft::testing
