// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocol/mutation.hpp"
#include "protocol/pattern.hpp"
#include "protocol/slot_buckets.hpp"
#include "protocol/slot_pool.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

namespace weft::protocol {

/// What the messages of a lane have in common, or what a receive asks for, a wildcard as in a canonical pattern.
struct lane_key {
  std::uint64_t tag = 0;
  std::uint64_t group = 0;
  int source = -1;

  friend bool operator==(const lane_key&, const lane_key&) = default;

  [[nodiscard]] std::uint64_t hash() const noexcept {
    // Tags are often counters or small numbers: an odd multiplier and a fold of the upper half spread both.
    const std::uint64_t mixed =
        (tag ^ static_cast<std::uint32_t>(source) * 0x9e3779b97f4a7c15U ^ group * 0xbf58476d1ce4e5b9U) *
        0xd6e8feb86659fd93U;
    return mixed ^ mixed >> 32;
  }
};

/// The patterns with a wildcard that match a message: one for any tag, one for any source, one for both.
inline constexpr std::size_t wildcard_kinds = 3;

/// The messages of one source, tag and group: those that wait, in order, and those that are matched and may come back.
struct lane {
  static constexpr std::uint64_t nothing_waits = std::numeric_limits<std::uint64_t>::max();

  /// Its place in a heap of lanes.
  struct node {
    std::uint32_t left = no_slot;
    std::uint32_t right = no_slot;
    std::uint32_t up = no_slot;  ///< or, of a heap's first lane, the next in its bucket
  };

  lane_key key;
  std::uint64_t arrival = nothing_waits;  ///< of the first message that waits
  std::uint32_t first = no_slot;          ///< message that waits
  std::uint32_t last = no_slot;
  std::uint32_t messages = 0;    ///< that are in it, matched ones included
  std::uint32_t next = no_slot;  ///< in its bucket
  std::array<node, wildcard_kinds> nodes;
  std::array<std::uint8_t, wildcard_kinds> ranks{};  ///< 0: in no heap of that kind
  bool was_emptied = false;                          ///< and is remembered for that
};
static_assert(sizeof(lane) == 88, "what a message with a tag of its own costs beside itself");

using lane_pool = slot_pool<lane, 128>;

/// The lanes in which messages wait, as receives of one kind of wildcard see them: a heap for each pattern, the lane
/// with the earliest message first. Leftist heaps, whose links lie in the lanes: every change takes logarithmic time
/// in the number of lanes that match the pattern, none moves memory, and a lone lane costs nothing beside itself.
///
/// A lane in which nothing waits any more stays where it is as long as it is in nobody's way: a tag in use comes again.
class lane_heap {
 public:
  lane_heap(lane_pool& lanes, bool any_source, bool any_tag)
      : lanes_(lanes), which_((any_source ? 2U : 0U) + (any_tag ? 1U : 0U) - 1) {}

  /// The lane with the earliest message that a receive of this kind takes. `no_slot`, or a lane in which nothing
  /// waits: there is none.
  [[nodiscard]] std::uint32_t first(const lane_key& wanted) const { return leader_of(wanted, wanted.hash()); }

  /// The first message that waits in the lane is another one than before: a later one, or none, or an earlier one.
  void update(std::uint32_t lane, bool later) {
    if (is_mutated(mutation::wildcard_overtakes)) return move(lane);
    if (rank_of(lane) == 0 || !(later ? precedes_those_below(lane) : follows_the_one_above(lane))) move(lane);
  }
  /// The lane comes to its end.
  void forget(std::uint32_t lane) {
    if (rank_of(lane) != 0) remove(lane);
  }

 private:
  struct chain;

  [[nodiscard]] lane::node& at(std::uint32_t lane) const noexcept { return lanes_[lane].nodes[which_]; }
  [[nodiscard]] std::uint8_t rank_of(std::uint32_t lane) const noexcept {
    return lane == no_slot ? std::uint8_t{0} : lanes_[lane].ranks[which_];
  }
  /// What receives of this kind ask for that see the lane.
  [[nodiscard]] lane_key key_of(std::uint32_t lane) const noexcept {
    const lane_key& whole = lanes_[lane].key;
    return {which_ == 1 ? whole.tag : 0, whole.group, which_ == 0 ? whole.source : -1};
  }

  // The rule that wildcards do not overtake is here.
  [[nodiscard]] bool precedes(std::uint32_t one, std::uint32_t other) const noexcept {
    if (is_mutated(mutation::wildcard_overtakes)) std::swap(one, other);
    return lanes_[one].arrival < lanes_[other].arrival;
  }
  // A link upwards and one to the next in a bucket look the same, but only what is above leads down to the lane again.
  [[nodiscard]] bool is_below_another(std::uint32_t lane) const noexcept {
    const std::uint32_t up = at(lane).up;
    return up != no_slot && (at(up).left == lane || at(up).right == lane);
  }
  [[nodiscard]] bool follows_the_one_above(std::uint32_t lane) const noexcept {
    return !is_below_another(lane) || !precedes(lane, at(lane).up);
  }
  [[nodiscard]] bool precedes_those_below(std::uint32_t lane) const noexcept {
    const auto& [left, right, up] = at(lane);
    return left == no_slot || (!precedes(left, lane) && (right == no_slot || !precedes(right, lane)));
  }

  [[nodiscard]] std::uint32_t leader_of(const lane_key& wanted, std::uint64_t hash) const;
  void move(std::uint32_t lane);
  void insert(std::uint32_t lane);
  [[nodiscard]] bool insert_beside(std::uint32_t other, std::uint32_t lane, const lane_key& key);
  void remove(std::uint32_t lane);
  [[nodiscard]] std::uint32_t merge(std::uint32_t one, std::uint32_t other);
  bool lean_left(std::uint32_t lane);

  lane_pool& lanes_;
  std::size_t which_;
  slot_buckets leaders_;            ///< first lanes by what they are seen by
  std::uint32_t newest_ = no_slot;  ///< inserted last
};

}  // namespace weft::protocol
