// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace weft::detail {

/// Deadlines by slot, the earliest first: a heap that knows where each slot stands, so that one that is met in time
/// leaves at once. Nothing allocates once it has grown to what the program needs.
template <class Time>
class deadline_queue {
 public:
  /// A slot has one deadline: it must have none yet.
  void add(std::uint32_t slot, Time when) {
    if (slot >= places_.size()) places_.resize(slot + std::size_t{1}, absent);
    heap_.push_back({when, slot});
    rise(heap_.size() - 1);
  }

  void remove(std::uint32_t slot) {
    if (slot >= places_.size() || places_[slot] == absent) return;
    const std::size_t hole = std::exchange(places_[slot], absent);
    const entry last = heap_.back();
    heap_.pop_back();
    if (hole == heap_.size()) return;
    heap_[hole] = last;
    rise(hole);
    sink(places_[last.slot]);
  }

  [[nodiscard]] std::optional<Time> earliest() const {
    return heap_.empty() ? std::nullopt : std::optional(heap_.front().when);
  }

  /// Removes and gives a slot whose deadline is `now` or before.
  std::optional<std::uint32_t> pop_expired(Time now) {
    if (heap_.empty() || now < heap_.front().when) return std::nullopt;
    const std::uint32_t slot = heap_.front().slot;
    remove(slot);
    return slot;
  }

 private:
  static constexpr std::size_t absent = std::numeric_limits<std::size_t>::max();

  struct entry {
    Time when;
    std::uint32_t slot;
  };

  void put(std::size_t place, entry which) {
    heap_[place] = which;
    places_[which.slot] = place;
  }

  void rise(std::size_t place) {
    const entry moving = heap_[place];
    while (place != 0 && moving.when < heap_[(place - 1) / 2].when) {
      put(place, heap_[(place - 1) / 2]);
      place = (place - 1) / 2;
    }
    put(place, moving);
  }

  void sink(std::size_t place) {
    const entry moving = heap_[place];
    for (;;) {
      std::size_t child = 2 * place + 1;
      if (child >= heap_.size()) break;
      if (child + 1 < heap_.size() && heap_[child + 1].when < heap_[child].when) ++child;
      if (!(heap_[child].when < moving.when)) break;
      put(place, heap_[child]);
      place = child;
    }
    put(place, moving);
  }

  std::vector<entry> heap_;
  std::vector<std::size_t> places_;  ///< in the heap, by slot
};

}  // namespace weft::detail
