// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocol/slot_pool.hpp"

#include <cstddef>
#include <cstdint>

namespace weft::protocol {

/// Slots by hash. Each bucket is a chain whose links are kept by whoever keeps the slots, who gives a `Chain` to reach
/// them: `next(slot)` is the link behind a slot, `hash(slot)` its hash again.
///
/// There are as many buckets as there have been slots at once, and they grow one by one, each taking its share from one
/// other (linear hashing): no insertion moves more than one chain.
class slot_buckets {
 public:
  /// Where the chain begins that a slot of that hash is in.
  [[nodiscard]] std::uint32_t first(std::uint64_t hash) const noexcept {
    return count_ == 0 ? no_slot : heads_[bucket_of(hash)];
  }

  template <class Chain>
  void insert(std::uint32_t slot, std::uint64_t hash, const Chain& chain) {
    if (count_ == heads_.size()) add_bucket(chain);
    ++count_;
    std::uint32_t& head = heads_[bucket_of(hash)];
    chain.next(slot) = head;
    head = slot;
  }

  template <class Chain>
  void remove(std::uint32_t slot, std::uint64_t hash, const Chain& chain) {
    std::uint32_t* link = &heads_[bucket_of(hash)];
    while (*link != slot) link = &chain.next(*link);
    *link = chain.next(slot);
    --count_;
  }

 private:
  static constexpr std::size_t per_chunk = 512;

  // As long as the buckets are no power of two, the later ones of the lower half have not been split.
  [[nodiscard]] std::uint32_t bucket_of(std::uint64_t hash) const noexcept {
    const std::uint32_t bucket = static_cast<std::uint32_t>(hash) & mask_;
    return bucket < heads_.size() ? bucket : bucket & (mask_ >> 1);
  }

  template <class Chain>
  void add_bucket(const Chain& chain) {
    const std::uint32_t added = heads_.add();
    if (added > mask_) mask_ = 2 * mask_ + 1;
    heads_[added] = no_slot;
    if (added == 0) return;
    std::uint32_t* link = &heads_[added & (mask_ >> 1)];
    while (*link != no_slot) {
      const std::uint32_t slot = *link;
      std::uint32_t& next = chain.next(slot);
      if ((static_cast<std::uint32_t>(chain.hash(slot)) & mask_) == added) {
        *link = next;
        next = heads_[added];
        heads_[added] = slot;
      } else {
        link = &next;
      }
    }
  }

  segmented<std::uint32_t, per_chunk> heads_;
  std::uint32_t mask_ = 0;  ///< the lowest of ones that reaches all buckets
  std::uint32_t count_ = 0;
};

}  // namespace weft::protocol
