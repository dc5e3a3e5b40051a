// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/serializers/raw.hpp>

#include <bit>
#include <concepts>
#include <cstddef>
#include <limits>
#include <type_traits>

/// Objects to frames and back, by cereal or by `codec`, and the names by which two programs compare their types.
namespace weft::serializers {

// Bytes go to the wire as they lie in memory; a port to a machine that differs converts in reader and byte_buffer.
static_assert(std::endian::native == std::endian::little, "the wire is little-endian");
static_assert(sizeof(void*) == 8 && sizeof(long) == 8, "long and size_t take 64 bits on the wire");
static_assert(std::numeric_limits<float>::is_iec559 && std::numeric_limits<double>::is_iec559);

/// The numbers that may travel. `long double` may not: its width and its padding differ between machines.
template <class T>
concept scalar = std::is_arithmetic_v<T> && !std::same_as<std::remove_cv_t<T>, long double>;

/// Elements whose contiguous ranges are copied whole; every pattern of bytes is one of their values.
template <class T>
concept range_element = (scalar<T> && !std::same_as<T, bool>) || std::same_as<T, std::byte> || raw_object<T>;

}  // namespace weft::serializers
