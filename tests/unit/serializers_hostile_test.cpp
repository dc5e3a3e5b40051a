// SPDX-License-Identifier: Apache-2.0
#include "serializers_test_allocations.hpp"
#include "serializers_test_frames.hpp"

#include <doctest/doctest.h>

#include <new>
#include <stdexcept>
#include <string>

using namespace weft::serializers;

namespace {

struct empty {};

struct large {
  std::array<double, 1'000> numbers{};

  template <class Archive>
  void serialize(Archive& archive) {
    archive(numbers);
  }
};

/// Whether decoding fails without allocating more than so many bytes at once.
template <class T>
void refuses_within(std::size_t bytes, const byte_buffer& frame, const char* reason) {
  forget_allocations();
  std::string text;
  try {
    (void)decode<T>(frame.bytes());
  } catch (const decode_error& problem) {
    const std::size_t largest = largest_allocation();
    text = problem.what();
    CHECK(largest <= bytes);
  }
  CHECK_MESSAGE(text.find(reason) != std::string::npos, text);
}

}  // namespace

TEST_CASE("sizes beyond the frame are refused before memory is taken for them") {
  for (const std::uint64_t size : {std::uint64_t{1} << 27, std::uint64_t{1} << 60, ~std::uint64_t{0} >> 1}) {
    const byte_buffer frame = frame_of(std::pair(size, std::uint64_t{0}));
    const std::string found = "found a count of " + std::to_string(size);
    refuses_within<std::string>(1'000, frame, found.c_str());
    refuses_within<std::vector<float>>(1'000, frame, found.c_str());
    refuses_within<std::vector<std::byte>>(1'000, frame, found.c_str());
    refuses_within<std::vector<bool>>(1'000, frame, found.c_str());
    refuses_within<std::vector<leaf>>(1'000, frame, found.c_str());
    refuses_within<std::vector<empty>>(1'000, frame, found.c_str());
    refuses_within<std::list<leaf>>(1'000, frame, found.c_str());
    refuses_within<std::deque<leaf>>(1'000, frame, found.c_str());
    refuses_within<std::map<int, leaf>>(1'000, frame, found.c_str());
    refuses_within<std::unordered_map<int, leaf>>(1'000, frame, found.c_str());
    refuses_within<std::set<int>>(1'000, frame, found.c_str());
    refuses_within<std::unordered_set<int>>(1'000, frame, found.c_str());
  }
}

TEST_CASE("a count that the bytes could hold takes no memory before its elements are read") {
  // 60,000 elements would be 480 MB, and the allowance for elements without bytes lets the count pass.
  refuses_within<std::vector<large>>(50'000, frame_of(std::pair(std::uint64_t{60'000}, std::uint64_t{0})),
                                     "to the end of the frame");
  refuses_within<std::deque<large>>(50'000, frame_of(std::pair(std::uint64_t{60'000}, std::uint64_t{0})),
                                    "to the end of the frame");
}

TEST_CASE("elements without bytes are bounded by a limit over the whole frame") {
  limits bounds;
  bounds.max_elements_without_bytes = 10;
  const byte_buffer ten = frame_of(std::vector<empty>(10));
  CHECK(std::get<0>(decode<std::vector<empty>>(ten.bytes(), bounds)).size() == 10);
  const byte_buffer eleven = frame_of(std::vector<empty>(11));
  CHECK_THROWS_AS((void)decode<std::vector<empty>>(eleven.bytes(), bounds), decode_error);
  using spread = std::pair<std::vector<std::vector<empty>>, std::array<char, 100>>;
  const byte_buffer twelve = frame_of(spread{std::vector(4, std::vector<empty>(3)), {}});
  CHECK_THROWS_WITH_AS((void)decode<spread>(twelve.bytes(), bounds),
                       doctest::Contains("found 11 elements that take no bytes; expected at most 10"), decode_error);
}

TEST_CASE("a bool is 0 or 1, alone, in arrays and in vectors") {
  const byte_buffer frame = frame_of(std::uint8_t{7});
  CHECK_THROWS_WITH_AS((void)decode<bool>(frame.bytes()), "at byte 16: found a bool of value 7; expected 0 or 1",
                       decode_error);
  const byte_buffer array = frame_of(std::array<std::uint8_t, 3>{1, 0, 7});
  CHECK_THROWS_WITH_AS(((void)decode<std::array<bool, 3>>(array.bytes())),
                       doctest::Contains("at byte 18: found a bool"), decode_error);
  const byte_buffer vector = frame_of(std::vector<std::uint8_t>{1, 7});
  CHECK_THROWS_AS((void)decode<std::vector<bool>>(vector.bytes()), decode_error);
}

TEST_CASE("the index of a variant must name an alternative") {
  for (const std::int32_t index : {-1, 2, 1 << 30}) {
    using number = std::variant<int, float>;
    CHECK_THROWS_AS((void)decode<number>(frame_of(std::pair(index, 0)).bytes()), decode_error);
  }
}

TEST_CASE("what an object throws while it is loaded becomes a decode_error that names the type") {
  struct refusing {
    int number = 0;
    void save(binary_output_archive& archive) const { archive(number); }
    void load(binary_input_archive& archive) {
      archive(number);
      if (number == 1) throw std::bad_alloc();
      throw std::length_error("too long");
    }
  };
  CHECK_THROWS_WITH_AS((void)decode<refusing>(frame_of(1).bytes()), doctest::Contains("(std::bad_alloc)"),
                       decode_error);
  CHECK_THROWS_WITH_AS((void)decode<refusing>(frame_of(2).bytes()),
                       doctest::Contains("(too long); expected objects of type"), decode_error);
}

TEST_CASE("the header is checked field by field") {
  const auto changed = [](std::size_t at, int value) {
    byte_buffer frame = frame_of(5);
    frame.data()[at] = static_cast<std::byte>(value);
    return frame;
  };
  const auto fails_with = [](const byte_buffer& frame, const char* text) {
    CHECK_THROWS_WITH_AS((void)decode<int>(frame.bytes()), doctest::Contains(text), decode_error);
  };
  fails_with(changed(0, 'X'), "at byte 0: found the mark ");
  fails_with(changed(2, 9), "at byte 2: found frame version 9; expected 2");
  fails_with(changed(3, 2), "at byte 3: found serializer 2 (JSON); expected 1 (binary)");
  fails_with(changed(4, 3), "at byte 4: found the number of objects 3; expected 1");
  fails_with(changed(8, 5), "at byte 8: found a body of 5 bytes; expected at most the 4 that follow");
  CHECK_THROWS_AS(((void)decode<int, int>(frame_of(5).bytes())), decode_error);
  CHECK_THROWS_AS((void)decode<>(frame_of(5).bytes()), decode_error);
}

TEST_CASE("bytes after the last object are refused, within the body and behind it") {
  CHECK_THROWS_WITH_AS((void)decode<int>(frame_of(std::pair(5, char{0})).bytes()),
                       doctest::Contains("at byte 20: found 1 byte after the last object"), decode_error);
  byte_buffer longer = frame_of(5);
  longer.append(char{0});
  CHECK_THROWS_AS((void)decode<int>(longer.bytes()), decode_error);
}
