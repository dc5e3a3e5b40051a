// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <mutex>

namespace weft::detail {

/// Gives out parts of one piece of memory, which it never touches: it may be a device's. From any thread.
///
/// First fit with neighbours joined again: a few hundred parts of very different sizes are out at a time.
class memory_pool {
 public:
  /// As cudaMalloc aligns.
  static constexpr std::size_t alignment = 256;

  memory_pool(std::byte* begin, std::size_t bytes);

  /// What a part of that size really takes.
  [[nodiscard]] static constexpr std::size_t rounded(std::size_t bytes) noexcept {
    return (bytes + (bytes == 0 ? alignment : alignment - 1)) / alignment * alignment;
  }

  /// Null where there is no such part left.
  [[nodiscard]] std::byte* take(std::size_t bytes);
  void give_back(std::byte* part) noexcept;

  [[nodiscard]] bool owns(const std::byte* part) const noexcept { return part >= begin_ && part < begin_ + bytes_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  /// Bytes that are out.
  [[nodiscard]] std::size_t used() const;

 private:
  std::byte* begin_;
  std::size_t bytes_;
  mutable std::mutex mutex_;
  std::map<std::size_t, std::size_t> free_;  ///< sizes by offset; never two next to each other
  std::map<std::size_t, std::size_t> used_;
};

}  // namespace weft::detail
