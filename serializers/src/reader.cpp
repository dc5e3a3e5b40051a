// SPDX-License-Identifier: Apache-2.0
#include <weft/serializers/reader.hpp>

#include <algorithm>

namespace weft::serializers {

namespace {
std::string in_bytes(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " byte" : " bytes");
}
}  // namespace

std::span<const std::byte> reader::read_bools(std::size_t size) {
  const reader before = *this;
  const auto bytes = read_bytes(size);
  const auto wrong = std::find_if(bytes.begin(), bytes.end(), [](std::byte value) { return value > std::byte{1}; });
  if (wrong != bytes.end()) {
    throw decode_error(before.offset() + static_cast<std::size_t>(wrong - bytes.begin()),
                       "a bool of value " + std::to_string(std::to_integer<int>(*wrong)), "0 or 1");
  }
  return bytes;
}

void reader::fail(const std::string& found, const std::string& expected) const {
  throw decode_error(offset(), found, expected);
}

void reader::fail_short(std::size_t size) const {
  fail(in_bytes(remaining()) + " to the end of the frame", in_bytes(size));
}

void reader::fail_range(std::uint64_t count, std::size_t element_size) const {
  fail("a count of " + std::to_string(count) + " elements of " + in_bytes(element_size) + " each",
       "at most " + std::to_string(remaining() / element_size) + ", since " + in_bytes(remaining()) + " remain");
}

void reader::fail_end() const {
  fail(in_bytes(remaining()) + " after the last object", "the end of the frame");
}

}  // namespace weft::serializers
