// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fuzz_objects.hpp"
#include "fuzz_raw.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace weft::fuzz {

/// Whether equal objects of a type are always encoded in the same order, which hash tables are not.
template <class T>
inline constexpr bool has_one_order = true;
template <>
inline constexpr bool has_one_order<containers> = false;
template <>
inline constexpr bool has_one_order<late> = false;
template <>
inline constexpr bool has_one_order<cloud> = false;

/// Whether two encodings are of the same object: of the same bytes, in the same order where there is one.
template <class T>
[[nodiscard]] bool is_same_object(std::span<const std::byte> a, std::span<const std::byte> b) {
  if (has_one_order<T>) return std::equal(a.begin(), a.end(), b.begin(), b.end());
  std::vector<std::byte> sorted_a(a.begin(), a.end());
  std::vector<std::byte> sorted_b(b.begin(), b.end());
  std::sort(sorted_a.begin(), sorted_a.end());
  std::sort(sorted_b.begin(), sorted_b.end());
  return sorted_a == sorted_b;
}

}  // namespace weft::fuzz
