// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

namespace weft::protocol {

/// Stands for "none" among slots.
inline constexpr std::uint32_t no_slot = std::numeric_limits<std::uint32_t>::max();

/// A sequence that grows by a chunk at a time. Elements keep their address: growing moves none of them, and takes no
/// longer at a million elements than at a thousand.
template <class T, std::size_t PerChunk>
requires(std::has_single_bit(PerChunk)) class segmented {
 public:
  [[nodiscard]] T& operator[](std::uint32_t at) noexcept { return chunks_[at / PerChunk][at % PerChunk]; }
  [[nodiscard]] const T& operator[](std::uint32_t at) const noexcept { return chunks_[at / PerChunk][at % PerChunk]; }
  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }

  /// The place of one element more, of default value.
  std::uint32_t add() {
    if (size_ % PerChunk == 0) chunks_.push_back(std::make_unique<T[]>(PerChunk));
    return size_++;
  }

 private:
  std::vector<std::unique_ptr<T[]>> chunks_;
  std::uint32_t size_ = 0;
};

/// Elements under slots that are used again after their end. A free element has the next free slot in its member
/// `next`.
template <class T, std::size_t PerChunk>
class slot_pool {
 public:
  /// A slot with an element of default value.
  std::uint32_t take() {
    if (free_ == no_slot) return elements_.add();
    const std::uint32_t slot = free_;
    free_ = elements_[slot].next;
    elements_[slot].next = no_slot;
    return slot;
  }
  void give_back(std::uint32_t slot) {
    elements_[slot] = T{};
    elements_[slot].next = free_;
    free_ = slot;
  }

  [[nodiscard]] T& operator[](std::uint32_t slot) noexcept { return elements_[slot]; }
  [[nodiscard]] const T& operator[](std::uint32_t slot) const noexcept { return elements_[slot]; }
  /// Slots, free ones included.
  [[nodiscard]] std::uint32_t size() const noexcept { return elements_.size(); }

 private:
  segmented<T, PerChunk> elements_;
  std::uint32_t free_ = no_slot;
};

}  // namespace weft::protocol
