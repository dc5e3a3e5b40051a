// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "growing_ring.hpp"

#include <weft/engine/detail/core.hpp>
#include <weft/engine/options.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>

namespace weft::detail {

struct finished_operation {
  detail::waiter* waiter = nullptr;
  boost::system::error_code code{};
  outcome result{};
};
struct late_failure {
  boost::system::error_code code;
  operation_details details;
};
struct log_line {
  log_level level;
  std::string text;
};

/// What user code is to be told, in order. Filled under the engine's lock, emptied one by one outside of it: a callback
/// may start, cancel or abandon operations.
class ready_queue {
 public:
  using notice = std::variant<late_failure, log_line>;

  /// Nearly all of them are operations, which therefore are not in the variant.
  struct item {
    explicit item(finished_operation&& next) noexcept : finished(std::move(next)) {}
    explicit item(notice&& next) : other(std::make_unique<notice>(std::move(next))) {}

    finished_operation finished;
    std::unique_ptr<notice> other;  ///< instead
  };

  void push(finished_operation&& next) { items_.push_back(item(std::move(next))); }
  void push(notice&& next) { items_.push_back(item(std::move(next))); }
  [[nodiscard]] bool empty() const noexcept { return items_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return items_.size(); }

  /// There is one.
  [[nodiscard]] item pop() {
    item next = std::move(items_.front());
    items_.pop_front();
    return next;
  }

  /// The waiter goes away before it was told. Of a message that was held for it, the operation; else 0.
  std::uint64_t forget(const waiter& who) {
    std::uint64_t held = 0;
    items_.erase_if([&](const item& candidate) {
      if (candidate.finished.waiter != &who) return false;
      held = candidate.finished.result.held;
      return true;
    });
    return held;
  }

 private:
  growing_ring<item> items_;
};

}  // namespace weft::detail
