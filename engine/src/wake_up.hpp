// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>

#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>

namespace weft::detail {

/// Lets one coroutine sleep until something may have changed; it then looks again at what it waits for. A notification
/// that finds nobody asleep is kept for the next wait.
class wake_up {
 public:
  wake_up(boost::asio::any_io_executor executor, std::mutex& mutex) : executor_(std::move(executor)), mutex_(mutex) {}

  /// Under the lock.
  void notify() {
    notified_ = sleeper_ == nullptr;
    if (sleeper_) boost::asio::post(executor_, [woken = std::move(sleeper_)] { woken->wake(); });
  }

  /// Not under the lock. Completion: `void()`, on the handler's own executor.
  template <class Token>
  auto wait(Token&& token) {
    return boost::asio::async_initiate<Token, void()>(
        [this]<class Handler>(Handler&& handler) {
          const std::lock_guard lock(mutex_);
          sleeper_ = std::make_unique<sleeper_of<std::decay_t<Handler>>>(std::forward<Handler>(handler), executor_);
          if (notified_) notify();
        },
        token);
  }

 private:
  struct sleeper {
    virtual ~sleeper() = default;
    virtual void wake() = 0;
  };

  template <class Handler>
  struct sleeper_of final : sleeper {
    sleeper_of(Handler&& from, const boost::asio::any_io_executor& otherwise)
        : own(boost::asio::get_associated_executor(from, otherwise)), handler(std::move(from)) {}
    void wake() override { boost::asio::dispatch(own, std::move(handler)); }

    boost::asio::associated_executor_t<Handler, boost::asio::any_io_executor> own;
    Handler handler;
  };

  boost::asio::any_io_executor executor_;
  std::mutex& mutex_;
  std::unique_ptr<sleeper> sleeper_;
  bool notified_ = false;
};

}  // namespace weft::detail
