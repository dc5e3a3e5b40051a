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

  /// `peer` is the rank at the other end.
  void publish(operation_id id, int peer, const message_memory& memory) {
    const std::lock_guard lock(mutex_);
    const auto slot = static_cast<std::uint32_t>(id);
    if (slot >= entries_.size()) entries_.resize(slot + 1);
    entries_[slot] = {id, peer, memory};
  }

  /// The memory of a published operation, which is the launch thread's until it reports the end. Nothing if the
  /// operation was revoked, or is not one with that peer: whoever reports a match names the send, and could name one
  /// that is for another rank.
  std::optional<message_memory> take(operation_id id, int peer) {
    const std::lock_guard lock(mutex_);
    entry* const published = find(id);
    if (published == nullptr || published->peer != peer) return std::nullopt;
    published->id = 0;
    return published->memory;
  }

  /// True if the launch thread had not taken it, and now never will.
  bool revoke(operation_id id) {
    const std::lock_guard lock(mutex_);
    entry* const published = find(id);
    if (published == nullptr) return false;
    published->id = 0;
    return true;
  }

 private:
  struct entry {
    operation_id id = 0;
    int peer = -1;
    message_memory memory;
  };

  entry* find(operation_id id) {
    const auto slot = static_cast<std::uint32_t>(id);
    return slot < entries_.size() && entries_[slot].id == id ? &entries_[slot] : nullptr;
  }

  std::mutex mutex_;
  std::vector<entry> entries_;
};

}  // namespace weft::detail
