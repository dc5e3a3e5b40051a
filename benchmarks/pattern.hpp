// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace weft::bench {

/// Writes bytes that depend on the position and on `seed`.
void fill(std::span<std::byte> bytes, std::uint64_t seed) noexcept;

/// Throws `std::runtime_error` that names the first byte which `fill` with this seed would not have written.
void check(std::span<const std::byte> bytes, std::uint64_t seed);

}  // namespace weft::bench
