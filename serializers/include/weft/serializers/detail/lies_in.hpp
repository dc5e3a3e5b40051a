// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>

namespace weft::serializers::detail {

/// Whether `data` points into the `bytes` from `begin` on.
[[nodiscard]] inline bool lies_in(const void* begin, std::size_t bytes, const void* data) noexcept {
  const auto* const first = static_cast<const std::byte*>(begin);
  const auto* const at = static_cast<const std::byte*>(data);
  const std::less<> before;  // orders all pointers, also those into different objects
  return !before(at, first) && before(at, first + bytes);
}

}  // namespace weft::serializers::detail
