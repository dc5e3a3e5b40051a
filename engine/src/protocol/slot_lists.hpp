// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocol/pattern.hpp"
#include "protocol/slot_pool.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace weft::protocol {

/// A list of slots with that pattern for its name: its two ends.
struct slot_list {
  pattern name;
  std::uint32_t first = no_slot;
  std::uint32_t last = no_slot;
  bool was_emptied = false;  ///< and is remembered for that

  [[nodiscard]] bool is_empty() const noexcept { return first == no_slot; }
};

/// One list of slots per pattern. Lists stay where they are while they hold anything. The ones emptied last are kept,
/// as a tag in use comes again, and nodes are used again after that: programs that make a new tag for each message
/// neither grow this table nor allocate.
class slot_lists {
 public:
  /// The list of that pattern, about to receive a slot.
  slot_list& for_insertion(const pattern& name) {
    if (const auto found = lists_.find(name); found != lists_.end()) return found->second;
    if (spare_.empty()) return lists_.try_emplace(name, slot_list{.name = name}).first->second;
    map::node_type reused = std::move(spare_.back());
    spare_.pop_back();
    reused.key() = name;
    reused.mapped() = {.name = name};
    return lists_.insert(std::move(reused)).position->second;
  }

  /// The first slot in the list of that pattern.
  [[nodiscard]] std::uint32_t first(const pattern& name) const {
    const auto found = lists_.find(name);
    return found == lists_.end() ? no_slot : found->second.first;
  }

  /// `list` has lost its last slot. Another one, emptied long ago, may go.
  void emptied(slot_list& list) {
    if (std::exchange(list.was_emptied, true)) return;
    slot_list* const oldest = std::exchange(emptied_[oldest_], &list);
    oldest_ = (oldest_ + 1) % emptied_.size();
    if (oldest == nullptr) return;
    oldest->was_emptied = false;
    if (oldest->is_empty()) discard(*oldest);
  }

  /// Lists in the table, empty ones included.
  [[nodiscard]] std::size_t size() const noexcept { return lists_.size(); }

 private:
  using map = std::unordered_map<pattern, slot_list, pattern_hash>;

  /// Empty lists, and then spare nodes, that are kept: enough for the tags of most programs, in some tens of kilobytes.
  static constexpr std::size_t kept = 256;

  void discard(const slot_list& empty) {
    map::node_type node = lists_.extract(empty.name);
    if (spare_.size() < kept) spare_.push_back(std::move(node));
  }

  map lists_;
  std::array<slot_list*, kept> emptied_{};  ///< a ring: every empty list is in it
  std::size_t oldest_ = 0;                  ///< in the ring
  std::vector<map::node_type> spare_;
};

}  // namespace weft::protocol
