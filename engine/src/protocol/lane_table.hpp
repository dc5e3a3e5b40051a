// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocol/lane_heap.hpp"
#include "protocol/pattern.hpp"
#include "protocol/slot_buckets.hpp"
#include "protocol/slot_pool.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace weft::protocol {

/// Lanes by source, tag and group, and in the order that wildcards go by. Those emptied last are kept, as a tag in use
/// comes again, and others take their slots after that: programs that make a new tag for each message neither grow this
/// table nor allocate.
class lane_table {
 public:
  lane_table() { emptied_.fill(no_slot); }
  lane_table(const lane_table&) = delete;
  lane_table& operator=(const lane_table&) = delete;

  /// The lane of such messages, with one more in it.
  std::uint32_t join(const lane_key& key);
  /// A message that does not wait leaves it.
  void leave(std::uint32_t lane);

  [[nodiscard]] lane& operator[](std::uint32_t lane) noexcept { return lanes_[lane]; }
  [[nodiscard]] const lane& operator[](std::uint32_t lane) const noexcept { return lanes_[lane]; }

  /// The first message that waits in the lane is now one of that arrival, or `lane::nothing_waits`.
  void begins_with(std::uint32_t lane, std::uint64_t arrival);

  /// The lane with the earliest waiting message that the canonical pattern matches. `no_slot`, or a lane in which
  /// nothing waits: there is none.
  [[nodiscard]] std::uint32_t first(const pattern& wanted) const;

  /// Lanes held, empty ones included.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  struct chain;

  /// Empty lanes that are kept: enough for the tags of most programs, in some tens of kilobytes.
  static constexpr std::size_t kept = 256;

  [[nodiscard]] std::uint32_t find(const lane_key& key, std::uint64_t hash) const;
  void keep_for_a_while(std::uint32_t lane);
  void discard(std::uint32_t lane);

  lane_pool lanes_;
  slot_buckets names_;
  std::array<lane_heap, wildcard_kinds> heaps_{lane_heap(lanes_, false, true), lane_heap(lanes_, true, false),
                                               lane_heap(lanes_, true, true)};
  std::array<std::uint32_t, kept> emptied_;  ///< a ring: every empty lane is in it
  std::size_t oldest_ = 0;                   ///< in the ring
  std::size_t size_ = 0;
};

}  // namespace weft::protocol
