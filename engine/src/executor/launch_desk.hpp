// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/engine/detail/core.hpp>

#include <functional>
#include <mutex>
#include <utility>

namespace weft::detail {

/// Where the application gives the device back that a launch thread has lent. It may do so when that thread has ended.
class launch_desk final : public lease_desk {
 public:
  explicit launch_desk(std::function<void()> on_return) : on_return_(std::move(on_return)) {}

  void give_back() noexcept override {
    const std::lock_guard lock(mutex_);
    if (on_return_) on_return_();
  }

  /// The launch thread ends. After it, nobody is told.
  void close() {
    const std::lock_guard lock(mutex_);
    on_return_ = nullptr;
  }

 private:
  std::mutex mutex_;
  std::function<void()> on_return_;
};

}  // namespace weft::detail
