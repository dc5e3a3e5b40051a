// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <utility>

namespace weft::detail {

/// Says that something is still waited for, ever more rarely, until it is destroyed. On one strand.
class reminder {
 public:
  /// With an empty `say` it does nothing.
  reminder(const boost::asio::any_io_executor& strand, std::chrono::milliseconds first, std::function<void()> say) {
    if (!say) return;
    state_ = std::make_shared<state>(state{boost::asio::steady_timer(strand), std::move(say)});
    rest(state_, first);
  }

 private:
  struct state {
    boost::asio::steady_timer timer;
    std::function<void()> say;
  };

  // A handler that is on its way when the reminder goes finds nothing any more.
  static void rest(const std::shared_ptr<state>& own, std::chrono::milliseconds pause) {
    own->timer.expires_after(pause);
    own->timer.async_wait([weak = std::weak_ptr(own), pause](const boost::system::error_code& code) {
      const auto self = weak.lock();
      if (code || !self) return;
      self->say();
      rest(self, 2 * pause);
    });
  }

  std::shared_ptr<state> state_;
};

}  // namespace weft::detail
