// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/experimental/promise.hpp>
#include <boost/asio/experimental/use_promise.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <utility>

namespace weft::bench {

/// An operation that is under way, to be awaited later.
template <class Operation>
class started {
 public:
  /// Starts it.
  explicit started(Operation&& operation) : promise_(std::move(operation)(boost::asio::experimental::use_promise)) {}

  /// Throws the error of an operation that failed.
  boost::asio::awaitable<void> finish() {
    const auto [code, result] = co_await promise_(boost::asio::as_tuple(boost::asio::use_awaitable));
    if (code) result.raise(code);
  }

 private:
  decltype(std::declval<Operation>()(boost::asio::experimental::use_promise)) promise_;
};

}  // namespace weft::bench
