// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/serializers/decode_error.hpp>
#include <weft/serializers/scalar.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

namespace weft::serializers {

/// Reads numbers and bytes from memory that is not trusted, from front to back. Whatever is not there is a
/// `decode_error`, thrown before anything is allocated for it.
class reader {
 public:
  /// Reads memory that must outlive the reader.
  explicit reader(std::span<const std::byte> bytes) noexcept
      : begin_(bytes.data()), next_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  /// How many bytes were read, and how many are left.
  /// @{
  [[nodiscard]] std::size_t offset() const noexcept { return static_cast<std::size_t>(next_ - begin_); }
  [[nodiscard]] std::size_t remaining() const noexcept { return static_cast<std::size_t>(end_ - next_); }
  /// @}

  /// The next number, little-endian, in the width of its type.
  template <scalar T>
  [[nodiscard]] T read() {
    T value;
    std::memcpy(&value, take(sizeof value), sizeof value);
    return value;
  }

  /// The next `size` bytes, where they lie.
  [[nodiscard]] std::span<const std::byte> read_bytes(std::size_t size) { return {take(size), size}; }

  /// The next `size` bytes, each of them 0 or 1: the memory of as many `bool`s.
  [[nodiscard]] std::span<const std::byte> read_bools(std::size_t size);

  /// Reads a number of elements that take `element_size` bytes each, and checks that all of them are there.
  [[nodiscard]] std::size_t read_range_count(std::size_t element_size) {
    return check_range_count(read<std::uint64_t>(), element_size);
  }
  /// The same for a number that was just read.
  [[nodiscard]] std::size_t check_range_count(std::uint64_t count, std::size_t element_size) const {
    if (count > remaining() / element_size) fail_range(count, element_size);
    return static_cast<std::size_t>(count);
  }

  /// A reader of the next `size` bytes, which are read with that. Its places count from where this one's do.
  [[nodiscard]] reader read_part(std::size_t size) {
    reader part = *this;
    part.end_ = take(size) + size;
    return part;
  }

  /// Throws unless all was read.
  void expect_end() const {
    if (next_ != end_) fail_end();
  }

  /// Throws a `decode_error` for the place that was reached.
  [[noreturn]] void fail(const std::string& found, const std::string& expected) const;
  /// The same for a number of elements that cannot be.
  [[noreturn]] void fail_range(std::uint64_t count, std::size_t element_size) const;

 private:
  const std::byte* take(std::size_t size) {
    if (size > remaining()) fail_short(size);
    const std::byte* const taken = next_;
    next_ += size;
    return taken;
  }

  [[noreturn]] void fail_short(std::size_t size) const;
  [[noreturn]] void fail_end() const;

  const std::byte* begin_;
  const std::byte* next_;
  const std::byte* end_;
};

/// A `bool` is a byte that must be 0 or 1.
template <>
[[nodiscard]] inline bool reader::read<bool>() {
  return read_bools(1).front() != std::byte{0};
}

}  // namespace weft::serializers
