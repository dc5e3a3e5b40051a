// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocol/lane_table.hpp"
#include "protocol/messages.hpp"
#include "protocol/slot_buckets.hpp"
#include "protocol/slot_pool.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

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

/// Messages that have arrived, under slots that are used again after their end: found by what their sender calls them,
/// and those that wait by what a receive asks for, the earliest first.
///
/// A message takes 60 bytes: what it shares with others of its source, tag and group lies in their lane. Memory grows
/// by chunks with the highest number of messages held at once, no insertion moves what was there before, and nothing
/// allocates after that. All steps take constant time, but for `wait` out of turn, which searches the place, and for a
/// lane whose first message comes or goes: logarithmic time in the number of lanes.
class message_table {
 public:
  /// Takes in a message, which does not wait yet.
  std::uint32_t hold(int source, const announce& body);
  /// A message that does not wait ends.
  void release(std::uint32_t message);

  /// A message, or one that is not present in a slot that is free.
  [[nodiscard]] held_message operator[](std::uint32_t message) const noexcept {
    return message == newest_slot_ ? newest_ : stored_message(message);
  }
  [[nodiscard]] int source_of(std::uint32_t message) const noexcept {
    return message == newest_slot_ ? newest_.source : lane_of(message).key.source;
  }
  /// All patterns that match the message.
  [[nodiscard]] std::array<pattern, 4> patterns_of(std::uint32_t message) const noexcept {
    if (message == newest_slot_) return patterns_matching(newest_.source, newest_.envelope.tag, newest_.envelope.group);
    return patterns_matching(lane_of(message).key.source, lane_of(message).key.tag, lane_of(message).key.group);
  }
  /// All slots lie below.
  [[nodiscard]] std::uint32_t size() const noexcept { return messages_.size(); }
  /// The message that `source` calls so, or `no_slot`.
  [[nodiscard]] std::uint32_t find(int source, operation_id send);

  /// The receive that a message, which does not wait, is matched with; 0 if it is not any more.
  void set_receive(std::uint32_t message, operation_id receive) { stored(message).receive = receive; }
  void set_has_payload(std::uint32_t message, bool whether) { stored(message).has_payload = whether; }
  void set_ready(std::uint32_t message) { stored(message).is_ready = true; }

  /// The message waits from now on, before all that arrived later.
  void wait(std::uint32_t message);
  /// False if it does not wait: it was matched, or has ended.
  bool stop_waiting(std::uint32_t message);
  [[nodiscard]] bool waits(std::uint32_t message) const noexcept {
    return message < messages_.size() && messages_[message].waits;
  }
  [[nodiscard]] std::size_t waiting_count() const noexcept { return waiting_; }
  /// The earliest waiting message that the canonical pattern matches, or `no_slot`.
  [[nodiscard]] std::uint32_t first(const pattern& wanted) const;
  /// Lanes held, empty ones included: what memory depends on beside the number of messages.
  [[nodiscard]] std::size_t lane_count() const noexcept { return lanes_.size(); }

 private:
  // Enough for a million messages a second in nine years.
  static constexpr int arrival_bits = 48;
  static constexpr std::uint64_t last_arrival = (std::uint64_t{1} << arrival_bits) - 1;

  struct neighbours {
    std::uint32_t previous;
    std::uint32_t next;
  };
  struct record {
    operation_id send = 0;
    std::uint64_t bytes = 0;
    std::uint64_t fingerprint = 0;
    std::uint64_t head = 0;
    union {
      operation_id receive = 0;  ///< of one that does not wait
      neighbours in_lane;        ///< of one that waits
    };
    std::uint32_t lane = no_slot;  ///< or none, in a free slot
    std::uint32_t next = no_slot;  ///< in its bucket
    std::uint64_t arrival : arrival_bits = 0;
    payload_kind kind : 1 = {};
    element_type element : 4 = {};
    memory_kind memory : 2 = {};
    weft::route route : 3 = {};
    bool has_payload : 1 = false;
    bool wants_verdict : 1 = false;
    bool is_ready : 1 = true;
    bool waits : 1 = false;
  };
  static_assert(sizeof(record) == 56, "a flood of announcements is a flood of these");

  struct chain;

  [[nodiscard]] const lane& lane_of(std::uint32_t message) const noexcept { return lanes_[messages_[message].lane]; }
  [[nodiscard]] held_message stored_message(std::uint32_t message) const noexcept;
  record& stored(std::uint32_t message) {
    if (message == newest_slot_) store_newest();
    return messages_[message];
  }
  void store_newest();
  [[nodiscard]] std::uint32_t predecessor(const lane& among, std::uint64_t arrival) const noexcept;

  lane_table lanes_;
  slot_pool<record, 256> messages_;
  slot_buckets names_;
  // Most messages meet their receive as they arrive. Only one that stays is given a lane and found by name.
  held_message newest_;
  std::uint32_t newest_slot_ = no_slot;
  std::uint64_t arrivals_ = 0;
  std::size_t waiting_ = 0;
};

}  // namespace weft::protocol
