// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocol/slot_lists.hpp"

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::protocol {

/// Slots chosen by the caller, each in several lists at once, every list ordered by a number given to the slot.
/// Appending, removing and looking at the front take constant time; going back to an old place takes a walk from the
/// front of each list.
template <std::size_t ListsPerSlot>
class ordered_index {
 public:
  using keys = std::array<pattern, ListsPerSlot>;

  /// Puts `slot` into the lists of the canonical patterns `in`, before every slot of a higher `order`.
  void insert(std::uint32_t slot, std::uint64_t order, const keys& in) {
    if (slot >= nodes_.size()) nodes_.resize(slot + std::size_t{1});
    assert(!nodes_[slot].present && "the slot is in use");
    nodes_[slot].present = true;
    nodes_[slot].order = order;
    for (std::size_t which = 0; which < ListsPerSlot; ++which) link(which, slot, lists_.for_insertion(in[which]));
    ++size_;
  }

  void remove(std::uint32_t slot) {
    assert(contains(slot));
    nodes_[slot].present = false;
    for (std::size_t which = 0; which < ListsPerSlot; ++which) unlink(which, slot);
    --size_;
  }

  [[nodiscard]] bool contains(std::uint32_t slot) const noexcept {
    return slot < nodes_.size() && nodes_[slot].present;
  }
  /// The slot of the lowest order in the list of that canonical pattern, or `no_slot`.
  [[nodiscard]] std::uint32_t first(const pattern& key) const { return size_ == 0 ? no_slot : lists_.first(key); }
  [[nodiscard]] std::uint64_t order_of(std::uint32_t slot) const noexcept { return nodes_[slot].order; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// Lists held, empty ones included.
  [[nodiscard]] std::size_t list_count() const noexcept { return lists_.size(); }

 private:
  struct place {
    slot_list* list = nullptr;
    std::uint32_t previous = no_slot;
    std::uint32_t next = no_slot;
  };
  struct node {
    std::uint64_t order = 0;
    std::array<place, ListsPerSlot> places;
    bool present = false;
  };

  place& at(std::size_t which, std::uint32_t slot) { return nodes_[slot].places[which]; }

  /// The slot that one of this order comes behind.
  std::uint32_t predecessor(std::size_t which, const slot_list& list, std::uint64_t order) {
    if (list.is_empty() || order_of(list.last) < order) return list.last;
    std::uint32_t previous = no_slot;
    for (std::uint32_t next = list.first; order_of(next) < order; next = at(which, next).next) previous = next;
    return previous;
  }

  void link(std::size_t which, std::uint32_t slot, slot_list& list) {
    const std::uint32_t previous = predecessor(which, list, order_of(slot));
    const std::uint32_t next = previous == no_slot ? list.first : at(which, previous).next;
    at(which, slot) = {&list, previous, next};
    (previous == no_slot ? list.first : at(which, previous).next) = slot;
    (next == no_slot ? list.last : at(which, next).previous) = slot;
  }

  void unlink(std::size_t which, std::uint32_t slot) {
    const auto [list, previous, next] = at(which, slot);
    (previous == no_slot ? list->first : at(which, previous).next) = next;
    (next == no_slot ? list->last : at(which, next).previous) = previous;
    if (list->is_empty()) lists_.emptied(*list);
  }

  slot_lists lists_;
  std::vector<node> nodes_;  ///< by slot
  std::size_t size_ = 0;
};

}  // namespace weft::protocol
