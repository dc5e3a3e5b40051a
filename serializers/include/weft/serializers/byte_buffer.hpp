// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/serializers/scalar.hpp>

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

namespace weft::serializers {

/// Bytes that grow at the end. Growth leaves new bytes uninitialized, and `clear` keeps the memory, so that a buffer
/// which is used again and again stops allocating.
class byte_buffer {
 public:
  byte_buffer() = default;
  /// The bytes go along; what was moved from is empty.
  /// @{
  byte_buffer(byte_buffer&& other) noexcept
      : bytes_(std::move(other.bytes_)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  byte_buffer& operator=(byte_buffer&& other) noexcept {
    bytes_ = std::move(other.bytes_);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, 0);
    return *this;
  }
  /// @}

  /// The bytes. Pointers to them are valid until the buffer grows.
  /// @{
  [[nodiscard]] std::byte* data() noexcept { return bytes_.get(); }
  [[nodiscard]] const std::byte* data() const noexcept { return bytes_.get(); }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {bytes_.get(), size_}; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  /// @}

  /// How many bytes fit in all before the buffer takes more memory.
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

  /// Forgets the bytes and keeps the memory.
  void clear() noexcept { size_ = 0; }

  /// Makes room for `capacity` bytes in all.
  void reserve(std::size_t capacity) {
    if (capacity > capacity_) reallocate(capacity);
  }

  /// Cuts the bytes to `size`, or adds uninitialized ones.
  void resize_uninitialized(std::size_t size) {
    reserve(size);
    size_ = size;
  }

  /// Adds `size` uninitialized bytes; where they begin. Pointers into the buffer are invalid after this.
  [[nodiscard]] std::byte* extend(std::size_t size) {
    if (size > capacity_ - size_) grow(size);
    return bytes_.get() + std::exchange(size_, size_ + size);
  }

  /// Adds a copy of `size` bytes, which lie outside of this buffer.
  void append(const void* source, std::size_t size) {
    if (size != 0) std::memcpy(extend(size), source, size);
  }

  /// Adds one number, little-endian, in the width of its type.
  template <scalar T>
  void append(T value) {
    std::memcpy(extend(sizeof value), &value, sizeof value);
  }

 private:
  void grow(std::size_t size);
  void reallocate(std::size_t capacity);

  std::unique_ptr<std::byte[]> bytes_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace weft::serializers
