// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocol/pattern.hpp"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace weft::protocol {

/// Stands for "none" among slots.
inline constexpr std::uint32_t no_slot = std::numeric_limits<std::uint32_t>::max();

/// The two ends of a list of slots.
struct slot_list {
  std::uint32_t first = no_slot;
  std::uint32_t last = no_slot;

  [[nodiscard]] bool is_empty() const noexcept { return first == no_slot; }
};

/// One list of slots per pattern. Lists stay where they are while they hold anything. Emptied ones are kept for a
/// while, as a tag in use comes again, and their nodes are used again after that: programs that make a new tag for each
/// message neither grow this table nor allocate.
class slot_lists {
 public:
  /// The list of that pattern, about to receive a slot.
  slot_list& for_insertion(const pattern& key) {
    if (const auto found = lists_.find(key); found != lists_.end()) {
      if (found->second.is_empty()) --empty_;
      return found->second;
    }
    if (spare_.empty()) return lists_[key];
    node reused = std::move(spare_.back());
    spare_.pop_back();
    reused.key() = key;
    return lists_.insert(std::move(reused)).position->second;
  }

  /// The first slot in the list of that pattern.
  [[nodiscard]] std::uint32_t first(const pattern& key) const {
    const auto found = lists_.find(key);
    return found == lists_.end() ? no_slot : found->second.first;
  }

  /// A list has lost its last slot; it may be gone afterwards.
  void emptied() {
    ++empty_;
    // Only when most are empty: the sweep then costs no more than the removals that led to it.
    if (empty_ > to_keep()) sweep();
  }

  /// Lists in the table, empty ones included.
  [[nodiscard]] std::size_t size() const noexcept { return lists_.size(); }

 private:
  using map = std::unordered_map<pattern, slot_list, pattern_hash>;
  using node = map::node_type;

  /// Empty lists that stay whatever happens: some tens of kilobytes, and the tags of most programs.
  static constexpr std::size_t always_kept = 256;

  [[nodiscard]] std::size_t to_keep() const noexcept { return always_kept + lists_.size() - empty_; }

  void sweep() {
    for (auto at = lists_.begin(); at != lists_.end();) {
      const auto here = at++;
      if (here->second.is_empty()) spare_.push_back(lists_.extract(here));
    }
    empty_ = 0;
    if (spare_.size() > to_keep()) spare_.resize(to_keep());
  }

  map lists_;
  std::vector<node> spare_;
  std::size_t empty_ = 0;
};

}  // namespace weft::protocol
