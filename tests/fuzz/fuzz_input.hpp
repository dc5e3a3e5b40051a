// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace weft::fuzz {

/// An input as a sequence of decisions, all of which are zero once it has ended.
class fuzz_input {
 public:
  fuzz_input(const std::uint8_t* data, std::size_t size) noexcept : rest_(std::as_bytes(std::span(data, size))) {}

  [[nodiscard]] bool empty() const noexcept { return rest_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return rest_.size(); }

  /// The next number, little-endian.
  template <class Number>
  requires std::is_trivially_copyable_v<Number>
  [[nodiscard]] Number next() noexcept {
    Number value{};
    const auto bytes = take(sizeof value);
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), bytes.size());
    return value;
  }
  [[nodiscard]] unsigned byte() noexcept { return next<std::uint8_t>(); }
  /// One of 0 to `count` - 1.
  [[nodiscard]] unsigned below(unsigned count) noexcept { return byte() % count; }
  [[nodiscard]] bool flag() noexcept { return (byte() & 1U) != 0; }

  /// The next `size` bytes, or those that are left.
  std::span<const std::byte> take(std::size_t size) noexcept {
    const auto taken = rest_.first(std::min(size, rest_.size()));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }
  [[nodiscard]] std::span<const std::byte> rest() noexcept { return take(rest_.size()); }

 private:
  std::span<const std::byte> rest_;
};

}  // namespace weft::fuzz
