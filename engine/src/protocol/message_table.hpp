// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocol/messages.hpp"
#include "protocol/slot_lists.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::protocol {

/// An announced message that its receive has not used up: it waits in the queue, or it is matched by a receive that may
/// still give it back.
struct held_message {
  int source = -1;
  bool present = false;
  announce envelope{};
  operation_id receive = 0;  ///< that it is matched with

  [[nodiscard]] bool waits() const noexcept { return present && receive == 0; }
};

/// Slots for messages, used again after their end, and found by what their sender calls them. Nothing allocates once
/// the tables have grown to what the program needs.
class message_table {
 public:
  std::uint32_t hold(int source, const announce& body) {
    if (free_.empty()) grow();
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    slots_[slot] = {.source = source, .present = true, .envelope = body};
    std::uint32_t& first = bucket_of(source, body.send);
    next_[slot] = first;
    first = slot;
    return slot;
  }

  void release(std::uint32_t slot) {
    held_message& message = slots_[slot];
    std::uint32_t* link = &bucket_of(message.source, message.envelope.send);
    while (*link != slot) link = &next_[*link];
    *link = next_[slot];
    message.present = false;
    free_.push_back(slot);
  }

  [[nodiscard]] held_message& operator[](std::uint32_t slot) noexcept { return slots_[slot]; }
  [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(slots_.size()); }

  /// The message that `source` calls so, or `no_slot`.
  [[nodiscard]] std::uint32_t find(int source, operation_id send) {
    if (slots_.empty()) return no_slot;
    std::uint32_t slot = bucket_of(source, send);
    while (slot != no_slot && !(slots_[slot].source == source && slots_[slot].envelope.send == send))
      slot = next_[slot];
    return slot;
  }

 private:
  /// As many buckets as slots: a chain has one message on average.
  void grow() {
    const std::size_t before = slots_.size();
    const std::size_t after = before == 0 ? 16 : 2 * before;
    slots_.resize(after);
    next_.assign(after, no_slot);
    buckets_.assign(after, no_slot);
    for (std::size_t slot = after; slot-- > before;) free_.push_back(static_cast<std::uint32_t>(slot));
    for (std::uint32_t slot = 0; slot < before; ++slot) {
      std::uint32_t& first = bucket_of(slots_[slot].source, slots_[slot].envelope.send);
      next_[slot] = first;
      first = slot;
    }
  }

  // A name has a slot below and a generation above, and senders use few slots again and again: a product whose upper
  // half depends on all of both.
  std::uint32_t& bucket_of(int source, operation_id send) {
    const std::uint64_t mixed =
        (send ^ std::uint64_t{static_cast<std::uint32_t>(source)} * 0xbf58476d1ce4e5b9U) * 0x9e3779b97f4a7c15U;
    return buckets_[static_cast<std::size_t>((mixed >> 32) & (buckets_.size() - 1))];
  }

  std::vector<held_message> slots_;
  std::vector<std::uint32_t> next_;     ///< by slot: the next of its bucket
  std::vector<std::uint32_t> buckets_;  ///< a power of two
  std::vector<std::uint32_t> free_;
};

}  // namespace weft::protocol
