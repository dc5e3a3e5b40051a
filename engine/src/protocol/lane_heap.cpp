// SPDX-License-Identifier: Apache-2.0
#include "protocol/lane_heap.hpp"

#include <utility>

namespace weft::protocol {

struct lane_heap::chain {
  const lane_heap& of;

  std::uint32_t& next(std::uint32_t lane) const noexcept { return of.at(lane).up; }
  std::uint64_t hash(std::uint32_t lane) const noexcept { return of.key_of(lane).hash(); }
};

std::uint32_t lane_heap::leader_of(const lane_key& wanted, std::uint64_t hash) const {
  std::uint32_t lane = leaders_.first(hash);
  while (lane != no_slot && key_of(lane) != wanted) lane = at(lane).up;
  return lane;
}

void lane_heap::move(std::uint32_t lane) {
  forget(lane);
  if (lanes_[lane].arrival != lane::nothing_waits) insert(lane);
}

void lane_heap::insert(std::uint32_t lane) {
  at(lane) = {};
  lanes_[lane].ranks[which_] = 1;
  const lane_key key = key_of(lane);
  if (insert_beside(std::exchange(newest_, lane), lane, key)) return;
  const std::uint64_t hash = key.hash();
  const std::uint32_t leader = leader_of(key, hash);
  if (leader != no_slot && precedes(leader, lane)) return void(merge(leader, lane));
  if (leader != no_slot) leaders_.remove(leader, hash, chain{*this});
  leaders_.insert(merge(lane, leader), hash, chain{*this});
}

// Most lanes come in the order of their messages: they belong right behind the one before, or before it where nothing
// waits there any more. No way down gets another length so.
bool lane_heap::insert_beside(std::uint32_t other, std::uint32_t lane, const lane_key& key) {
  if (other == lane || rank_of(other) != 1 || key_of(other) != key) return false;
  const auto [left, right, up] = at(other);
  if (precedes(other, lane)) {
    if (left != no_slot) return false;
    at(other).left = lane;
    at(lane).up = other;
    return true;
  }
  if (!is_below_another(other) || precedes(lane, up)) return false;
  (at(up).left == other ? at(up).left : at(up).right) = lane;
  at(lane) = {other, no_slot, up};
  at(other).up = lane;
  return true;
}

void lane_heap::remove(std::uint32_t lane) {
  const auto [left, right, up] = at(lane);
  lanes_[lane].ranks[which_] = 0;
  if (!is_below_another(lane)) {
    const std::uint64_t hash = key_of(lane).hash();
    leaders_.remove(lane, hash, chain{*this});
    if (left != no_slot) leaders_.insert(merge(left, right), hash, chain{*this});
    return;
  }
  const std::uint32_t rest = merge(left, right);
  (at(up).left == lane ? at(up).left : at(up).right) = rest;
  if (rest != no_slot) at(rest).up = up;
  for (std::uint32_t above = up; lean_left(above) && is_below_another(above);) above = at(above).up;
}

// Recursion only along right edges, of which a leftist heap of n has at most log2(n + 1) in a row.
std::uint32_t lane_heap::merge(std::uint32_t one, std::uint32_t other) {
  if (one == no_slot) return other;
  if (other == no_slot) return one;
  if (precedes(other, one)) std::swap(one, other);
  const std::uint32_t below = merge(at(one).right, other);
  at(one).right = below;
  at(below).up = one;
  (void)lean_left(one);
  return one;
}

// What makes a heap leftist: the shorter way down is the right one. True if the way down from here has got another
// length.
bool lane_heap::lean_left(std::uint32_t lane) {
  lane::node& node = at(lane);
  if (rank_of(node.left) < rank_of(node.right)) std::swap(node.left, node.right);
  const auto rank = static_cast<std::uint8_t>(rank_of(node.right) + 1);
  return std::exchange(lanes_[lane].ranks[which_], rank) != rank;
}

}  // namespace weft::protocol
