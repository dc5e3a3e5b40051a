// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "growing_ring.hpp"

#include <weft/engine/detail/core.hpp>
#include <weft/engine/options.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace weft::detail {

struct finished_operation {
  detail::waiter* waiter;
  boost::system::error_code code;
  outcome result;
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
  using item = std::variant<finished_operation, late_failure, log_line>;

  void push(item next) { items_.push_back(std::move(next)); }
  [[nodiscard]] bool empty() const noexcept { return items_.empty(); }

  std::optional<item> pop() {
    if (items_.empty()) return std::nullopt;
    std::optional<item> next(std::move(items_.front()));
    items_.pop_front();
    return next;
  }

  /// The waiter goes away before it was told. Of a message that was held for it, the operation; else 0.
  std::uint64_t forget(const waiter& who) {
    std::uint64_t held = 0;
    items_.erase_if([&](const item& candidate) {
      const auto* finished = std::get_if<finished_operation>(&candidate);
      if (finished == nullptr || finished->waiter != &who) return false;
      held = finished->result.held;
      return true;
    });
    return held;
  }

 private:
  growing_ring<item> items_;
};

}  // namespace weft::detail
