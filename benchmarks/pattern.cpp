// SPDX-License-Identifier: Apache-2.0
#include "pattern.hpp"

#include <stdexcept>
#include <string>

namespace weft::bench {
namespace {

// The high half of a product with an odd constant: neighbours, pages and seeds all differ.
std::byte expected_at(std::size_t position, std::uint64_t seed) noexcept {
  return static_cast<std::byte>(((position + (seed << 40)) * 0x9e3779b97f4a7c15U) >> 56);
}

}  // namespace

void fill(std::span<std::byte> bytes, std::uint64_t seed) noexcept {
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = expected_at(i, seed);
}

void check(std::span<const std::byte> bytes, std::uint64_t seed) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] == expected_at(i, seed)) continue;
    throw std::runtime_error("a message of " + std::to_string(bytes.size()) + " bytes arrived damaged: byte " +
                             std::to_string(i) + " is " + std::to_string(std::to_integer<int>(bytes[i])) +
                             " and should be " + std::to_string(std::to_integer<int>(expected_at(i, seed))));
  }
}

}  // namespace weft::bench
