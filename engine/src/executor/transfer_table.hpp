// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "memory_cursor.hpp"
#include "protocol/messages.hpp"

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

namespace weft::detail {

/// The operations that the log may carry out: published by the protocol's side before the sequencer can hear of them,
/// taken by the launch thread when their entry comes. Taking and revoking decide between each other under the lock,
/// which is held for a few instructions and contended only in that race.
class transfer_table {
 public:
  using operation_id = protocol::operation_id;

  void publish(operation_id id, const message_memory& memory) {
    const std::lock_guard lock(mutex_);
    const auto slot = static_cast<std::uint32_t>(id);
    if (slot >= entries_.size()) entries_.resize(slot + 1);
    entries_[slot] = {id, memory};
  }

  /// The memory of a published operation, which is the launch thread's until it reports the end. Nothing if the
  /// operation was revoked.
  std::optional<message_memory> take(operation_id id) { return remove(id); }

  /// True if the launch thread had not taken it, and now never will.
  bool revoke(operation_id id) { return remove(id).has_value(); }

 private:
  struct entry {
    operation_id id = 0;
    message_memory memory;
  };

  std::optional<message_memory> remove(operation_id id) {
    const std::lock_guard lock(mutex_);
    const auto slot = static_cast<std::uint32_t>(id);
    if (slot >= entries_.size() || entries_[slot].id != id) return std::nullopt;
    entries_[slot].id = 0;
    return entries_[slot].memory;
  }

  std::mutex mutex_;
  std::vector<entry> entries_;
};

}  // namespace weft::detail
