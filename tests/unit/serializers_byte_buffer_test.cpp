// SPDX-License-Identifier: Apache-2.0
#include <weft/serializers/byte_buffer.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <utility>

using weft::serializers::byte_buffer;

TEST_CASE("a new buffer is empty and owns nothing") {
  const byte_buffer buffer;
  CHECK(buffer.empty());
  CHECK(buffer.capacity() == 0);
  CHECK(buffer.bytes().empty());
}

TEST_CASE("numbers are appended little-endian in the width of their type") {
  byte_buffer buffer;
  buffer.append(std::uint32_t{0x01020304});
  buffer.append(true);
  REQUIRE(buffer.size() == 5);
  CHECK(buffer.data()[0] == std::byte{4});
  CHECK(buffer.data()[3] == std::byte{1});
  CHECK(buffer.data()[4] == std::byte{1});
}

TEST_CASE("bytes survive growth") {
  byte_buffer buffer;
  for (std::uint32_t i = 0; i != 10'000; ++i) buffer.append(i);
  REQUIRE(buffer.size() == 40'000);
  std::uint32_t last = 0;
  std::memcpy(&last, buffer.data() + 39'996, sizeof last);
  CHECK(last == 9'999);
}

TEST_CASE("clear keeps the memory") {
  byte_buffer buffer;
  buffer.resize_uninitialized(1'000);
  const std::byte* const memory = buffer.data();
  buffer.clear();
  CHECK(buffer.empty());
  buffer.resize_uninitialized(1'000);
  CHECK(buffer.data() == memory);
}

TEST_CASE("reserve takes the memory at once") {
  byte_buffer buffer;
  buffer.reserve(5'000);
  CHECK(buffer.empty());
  const std::byte* const memory = buffer.data();
  buffer.resize_uninitialized(5'000);
  CHECK(buffer.data() == memory);
}

TEST_CASE("a buffer that was moved from is empty and usable") {
  byte_buffer first;
  first.append(7);
  byte_buffer second = std::move(first);
  CHECK(second.size() == sizeof(int));
  CHECK(first.empty());
  first.append(8);
  CHECK(first.size() == sizeof(int));
  first = std::move(second);
  CHECK(first.size() == sizeof(int));
  CHECK(first.data()[0] == std::byte{7});
}

TEST_CASE("nothing can be appended from nowhere") {
  byte_buffer buffer;
  buffer.append(nullptr, 0);
  CHECK(buffer.empty());
}

TEST_CASE("growth beyond the address space is refused by name") {
  byte_buffer buffer;
  buffer.append(1);
  CHECK_THROWS_AS((void)buffer.extend(std::numeric_limits<std::size_t>::max() - 1), std::length_error);
  CHECK(buffer.size() == sizeof(int));
}
