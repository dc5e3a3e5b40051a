// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>

#include <mutex>
#include <utility>

namespace weft::detail {

/// Lets one coroutine sleep until something may have changed; it then looks again at what it waits for. A notification
/// that finds nobody asleep is kept for the next wait.
class wake_up {
 public:
  wake_up(boost::asio::any_io_executor executor, std::mutex& mutex) : executor_(std::move(executor)), mutex_(mutex) {}

  /// Under the lock.
  void notify() {
    notified_ = true;
    if (!sleeper_) return;
    boost::asio::post(executor_, [sleeper = std::move(sleeper_)]() mutable { std::move(sleeper)(); });
    notified_ = false;
  }

  /// Not under the lock. Completion: `void()`, on the handler's own executor.
  template <class Token>
  auto wait(Token&& token) {
    return boost::asio::async_initiate<Token, void()>(
        [this]<class Handler>(Handler&& handler) {
          auto own = boost::asio::get_associated_executor(handler, executor_);
          const std::lock_guard lock(mutex_);
          sleeper_ = [own, handler = std::forward<Handler>(handler)]() mutable {
            boost::asio::dispatch(own, std::move(handler));
          };
          if (notified_) notify();
        },
        token);
  }

 private:
  boost::asio::any_io_executor executor_;
  std::mutex& mutex_;
  boost::asio::any_completion_handler<void()> sleeper_;
  bool notified_ = false;
};

}  // namespace weft::detail
