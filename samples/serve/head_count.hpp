// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace serve {

/// Counts the coroutines that are under way on one thread, so that another may wait for the last of them.
class head_count {
 public:
  explicit head_count(const boost::asio::any_io_executor& executor)
      : gone_(executor, boost::asio::steady_timer::time_point::max()) {}

  /// One of them, as long as it lives.
  class member {
   public:
    explicit member(head_count& all) noexcept : all_(all) { ++all_.present_; }
    member(const member&) = delete;
    member& operator=(const member&) = delete;
    ~member() {
      if (--all_.present_ == 0) all_.gone_.cancel();
    }

   private:
    head_count& all_;
  };

  [[nodiscard]] boost::asio::awaitable<void> none_left() {
    while (present_ != 0) co_await gone_.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
  }

 private:
  int present_ = 0;
  boost::asio::steady_timer gone_;  ///< never expires: its cancellation is the news
};

}  // namespace serve
