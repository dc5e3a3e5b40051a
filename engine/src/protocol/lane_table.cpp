// SPDX-License-Identifier: Apache-2.0
#include "protocol/lane_table.hpp"

#include <utility>

namespace weft::protocol {

struct lane_table::chain {
  lane_pool& lanes;

  std::uint32_t& next(std::uint32_t lane) const noexcept { return lanes[lane].next; }
  std::uint64_t hash(std::uint32_t lane) const noexcept { return lanes[lane].key.hash(); }
};

std::uint32_t lane_table::find(const lane_key& key, std::uint64_t hash) const {
  std::uint32_t found = names_.first(hash);
  while (found != no_slot && lanes_[found].key != key) found = lanes_[found].next;
  return found;
}

std::uint32_t lane_table::join(const lane_key& key) {
  const std::uint64_t hash = key.hash();
  std::uint32_t joined = find(key, hash);
  if (joined == no_slot) {
    joined = lanes_.take();
    lanes_[joined].key = key;
    names_.insert(joined, hash, chain{lanes_});
    ++size_;
  }
  ++lanes_[joined].messages;
  return joined;
}

void lane_table::leave(std::uint32_t lane) {
  if (--lanes_[lane].messages == 0 && !std::exchange(lanes_[lane].was_emptied, true)) keep_for_a_while(lane);
}

// Another one, emptied long ago, may go for it.
void lane_table::keep_for_a_while(std::uint32_t lane) {
  const std::uint32_t oldest = std::exchange(emptied_[oldest_], lane);
  oldest_ = (oldest_ + 1) % emptied_.size();
  if (oldest == no_slot) return;
  lanes_[oldest].was_emptied = false;
  if (lanes_[oldest].messages == 0) discard(oldest);
}

void lane_table::discard(std::uint32_t lane) {
  for (lane_heap& heap : heaps_) heap.forget(lane);
  names_.remove(lane, chain{lanes_}.hash(lane), chain{lanes_});
  lanes_.give_back(lane);
  --size_;
}

void lane_table::begins_with(std::uint32_t lane, std::uint64_t arrival) {
  const bool later = arrival > std::exchange(lanes_[lane].arrival, arrival);
  for (lane_heap& heap : heaps_) heap.update(lane, later);
}

std::uint32_t lane_table::first(const pattern& wanted) const {
  const lane_key key{wanted.tag, wanted.group, wanted.source};
  if (!wanted.any_source && !wanted.any_tag) return find(key, key.hash());
  return heaps_[(wanted.any_source ? 2U : 0U) + (wanted.any_tag ? 1U : 0U) - 1].first(key);
}

}  // namespace weft::protocol
