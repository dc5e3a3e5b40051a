// SPDX-License-Identifier: Apache-2.0
#include "protocol/transfer_lanes.hpp"

#include "protocol/mutation.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace weft::protocol {
namespace {

std::uint64_t key_of(const transfer& what) {
  return std::uint64_t{static_cast<std::uint32_t>(what.source)} << 32 | static_cast<std::uint32_t>(what.destination);
}

}  // namespace

void transfer_lanes::add(const transfer& what) {
  const auto [at, is_new] = lane_of_.try_emplace(key_of(what), static_cast<std::uint32_t>(lanes_.size()));
  if (is_new) lanes_.push_back({.source = what.source, .destination = what.destination});
  lane& to = lanes_[at->second];
  const std::uint32_t slot = store(what);
  if (to.first == none) {
    to.first = slot;
    ready_.push_back(at->second);  // nothing arrived later: the order holds
  } else {
    slots_[to.last].next = slot;
  }
  to.last = slot;
}

std::uint32_t transfer_lanes::store(const transfer& what) {
  if (free_slots_.empty()) {
    free_slots_.push_back(static_cast<std::uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const std::uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  slots_[slot] = {.what = what, .arrival = ++arrivals_};
  ++size_;
  return slot;
}

transfer transfer_lanes::remove(lane& from, std::uint32_t previous, std::uint32_t slot) {
  const std::uint32_t next = slots_[slot].next;
  (previous == none ? from.first : slots_[previous].next) = next;
  if (next == none) from.last = previous;
  free_slots_.push_back(slot);
  --size_;
  return slots_[slot].what;
}

bool transfer_lanes::withdraw(const transfer& what) {
  const auto found = lane_of_.find(key_of(what));
  if (found == lane_of_.end()) return false;
  lane& from = lanes_[found->second];
  std::uint32_t previous = none;
  std::uint32_t slot = from.first;
  while (slot != none && slots_[slot].what != what) previous = std::exchange(slot, slots_[slot].next);
  if (slot == none) return false;
  (void)remove(from, previous, slot);
  if (previous == none) reorder(found->second);
  return true;
}

void transfer_lanes::take(batch_shape& shape, std::vector<taken_transfer>& taken) {
  auto kept = ready_.begin();
  for (const std::uint32_t index : ready_) {
    lane& from = lanes_[index];
    if (!shape.admit(from.source, from.destination)) {
      *kept++ = index;
      continue;
    }
    do taken.push_back({remove(from, none, from.first), !std::exchange(from.used, true)});
    while (is_mutated(mutation::no_caps) && from.first != none);
    if (from.first != none) refilled_.push_back(index);
  }
  const auto older = [this](std::uint32_t a, std::uint32_t b) { return is_older(a, b); };
  std::sort(refilled_.begin(), refilled_.end(), older);
  ready_.erase(kept, ready_.end());
  merged_.clear();
  std::merge(ready_.begin(), ready_.end(), refilled_.begin(), refilled_.end(), std::back_inserter(merged_), older);
  ready_.swap(merged_);
  refilled_.clear();
}

bool transfer_lanes::is_older(std::uint32_t lane_a, std::uint32_t lane_b) const {
  return slots_[lanes_[lane_a].first].arrival < slots_[lanes_[lane_b].first].arrival;
}

void transfer_lanes::reorder(std::uint32_t changed_lane) {
  ready_.erase(std::find(ready_.begin(), ready_.end(), changed_lane));
  if (lanes_[changed_lane].first == none) return;
  const auto older = [this](std::uint32_t a, std::uint32_t b) { return is_older(a, b); };
  ready_.insert(std::lower_bound(ready_.begin(), ready_.end(), changed_lane, older), changed_lane);
}

}  // namespace weft::protocol
