// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace weft::protocol {

/// What a receive asks for. With a wildcard the value beside it means nothing.
struct pattern {
  int source = -1;
  bool any_source = false;
  std::uint64_t tag = 0;
  bool any_tag = false;
  std::uint64_t group = 0;

  /// Of messages within that group.
  [[nodiscard]] constexpr bool matches(int from, std::uint64_t with) const noexcept {
    return (any_source || source == from) && (any_tag || tag == with);
  }

  /// The same with the meaningless values set to defaults, so that equal patterns compare equal.
  [[nodiscard]] constexpr pattern canonical() const noexcept {
    return {any_source ? -1 : source, any_source, any_tag ? 0 : tag, any_tag, group};
  }

  friend constexpr bool operator==(const pattern&, const pattern&) = default;
};

/// All patterns that match a message, canonical.
[[nodiscard]] constexpr std::array<pattern, 4> patterns_matching(int source, std::uint64_t tag,
                                                                 std::uint64_t group) noexcept {
  return {pattern{source, false, tag, false, group}, pattern{source, false, 0, true, group},
          pattern{-1, true, tag, false, group}, pattern{-1, true, 0, true, group}};
}

/// Hash of a canonical pattern.
struct pattern_hash {
  [[nodiscard]] std::size_t operator()(const pattern& key) const noexcept {
    const auto wildcards = static_cast<std::uint64_t>(key.any_source) << 1 | static_cast<std::uint64_t>(key.any_tag);
    const auto place = static_cast<std::uint64_t>(static_cast<std::uint32_t>(key.source)) << 2 | wildcards;
    // Tags are often counters or small numbers: an odd multiplier and a fold of the upper half spread both.
    const std::uint64_t mixed =
        (key.tag ^ place * 0x9e3779b97f4a7c15U ^ key.group * 0xbf58476d1ce4e5b9U) * 0xd6e8feb86659fd93U;
    return static_cast<std::size_t>(mixed ^ mixed >> 32);
  }
};

}  // namespace weft::protocol
