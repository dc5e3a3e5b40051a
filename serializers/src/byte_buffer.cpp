// SPDX-License-Identifier: Apache-2.0
#include <weft/serializers/byte_buffer.hpp>

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace weft::serializers {

namespace {
// Holds most control messages without growing again.
constexpr std::size_t smallest_capacity = 256;
}  // namespace

void byte_buffer::grow(std::size_t size) {
  if (size > std::numeric_limits<std::ptrdiff_t>::max() - size_) {
    throw std::length_error("byte_buffer: " + std::to_string(size) + " bytes more than " + std::to_string(size_) +
                            " exceed the address space");
  }
  reallocate(std::max({size_ + size, 2 * capacity_, smallest_capacity}));
}

void byte_buffer::reallocate(std::size_t capacity) {
  auto moved = std::make_unique_for_overwrite<std::byte[]>(capacity);
  if (size_ != 0) std::memcpy(moved.get(), bytes_.get(), size_);
  bytes_ = std::move(moved);
  capacity_ = capacity;
}

}  // namespace weft::serializers
