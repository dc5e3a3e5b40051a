// SPDX-License-Identifier: Apache-2.0
// Ranges that travel behind their frame: what is taken, what is not, and what a hostile table can do.
#include "serializers_test_allocations.hpp"
#include "serializers_test_frames.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <variant>
#include <vector>

using namespace weft::serializers;

namespace {

using numbers = std::vector<float>;
constexpr std::size_t large = 4'000;  // numbers: 16,000 bytes

/// A frame, its segments where they lie, and a copy of their bytes as they arrive.
struct sent_frame {
  byte_buffer frame;
  segment_list segments;
  std::vector<std::byte> body;

  template <class... Ts>
  explicit sent_frame(const Ts&... objects) {
    encode(frame, segments, objects...);
    for (const segment& one : segments.segments()) body.insert(body.end(), one.data, one.data + one.bytes);
  }
};

template <class T>
T copied(const sent_frame& sent) {
  T object{};
  segment_reader reader{std::span<const std::byte>(sent.body)};
  decode_into(sent.frame.bytes(), reader, {}, object);
  CHECK(reader.copied() == sent.body.size());
  return object;
}

template <class T>
T landed(const sent_frame& sent) {
  T object{};
  segment_reader reader{std::uint64_t{sent.body.size()}};
  decode_into(sent.frame.bytes(), reader, {}, object);
  const std::byte* next = sent.body.data();
  for (const landing_place& one : reader.places()) {
    std::memcpy(one.data, next, one.bytes);
    next += one.bytes;
  }
  CHECK(next == sent.body.data() + sent.body.size());
  return object;
}

template <class T>
void arrives(const T& object, std::size_t segments) {
  const sent_frame sent(object);
  CHECK(sent.segments.segments().size() == segments);
  CHECK((copied<T>(sent) == object));
  if constexpr (late_delivery<T>) CHECK((landed<T>(sent) == object));
}

struct holder {
  numbers inner;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(inner);
  }
  friend bool operator==(const holder&, const holder&) = default;
};

/// Whose serialization gives what lies elsewhere.
struct indirect {
  std::shared_ptr<holder> owned = std::make_shared<holder>(holder{numbers(large, 1)});
  const numbers* elsewhere = nullptr;
  template <class Archive>
  void save(Archive& archive) const {
    const numbers made(large, 2);
    archive(owned, *elsewhere, made);
  }
};

template <class T>
void refuses(const sent_frame& sent, std::size_t body_bytes, const char* reason) {
  T object{};
  for (const bool lands : {false, true}) {
    const std::vector<std::byte> body(body_bytes);
    segment_reader reader = lands ? segment_reader(std::uint64_t{body_bytes}) : segment_reader(std::span(body));
    forget_allocations();
    try {
      decode_into(sent.frame.bytes(), reader, {}, object);
      FAIL("it was decoded");
    } catch (const decode_error& problem) {
      const std::size_t taken = largest_allocation();
      CHECK(taken <= 64'000);
      CHECK_MESSAGE(std::string(problem.what()).find(reason) != std::string::npos, problem.what());
    }
  }
}

}  // namespace

TEST_CASE("large ranges of numbers are left where they lie, and small ones are not") {
  arrives(numbers(large, 1.5F), 1);
  arrives(numbers(10, 1.5F), 0);
  arrives(std::string(20'000, 'x'), 1);
  arrives(std::vector<std::byte>(20'000), 1);
  arrives(std::array<double, 2'000>{1, 2}, 1);
  arrives(std::array<std::byte, 9'000>{std::byte{7}}, 1);
  const sent_frame sent{numbers(large, 1)};
  CHECK(sent.frame.size() < 100);
}

TEST_CASE("ranges within containers, optionals, variants and behind pointers are left where they lie") {
  const numbers many(large, 2);
  arrives(std::vector<numbers>(5, many), 5);
  arrives(std::map<int, numbers>{{1, many}, {2, {}}, {3, many}}, 2);
  arrives(std::optional<numbers>(many), 1);
  arrives(std::variant<int, numbers>(many), 1);
  arrives(std::pair(many, std::tuple(many, std::string(9'000, 'y'))), 3);
  arrives(holder{many}, 1);
  arrives(std::map<std::string, holder>{{"a", {many}}}, 1);
  auto pointer = std::make_unique<numbers>(many);
  const sent_frame sent(pointer);
  CHECK(sent.segments.segments().size() == 1);
  CHECK((*landed<std::unique_ptr<numbers>>(sent) == many));
}

TEST_CASE("keys travel in the archive, because they are looked at") {
  const std::string key(20'000, 'k');
  arrives(std::set<std::string>{key}, 0);
  arrives(std::map<std::string, numbers>{{key, numbers(large)}}, 1);
}

TEST_CASE("memory that is in none of the objects is copied, for it may not last") {
  const numbers elsewhere(large, 3);
  indirect object;
  object.elsewhere = &elsewhere;
  const sent_frame sent(object);
  REQUIRE(sent.segments.segments().size() == 1);
  CHECK(sent.segments.segments()[0].data == reinterpret_cast<const std::byte*>(object.owned->inner.data()));
}

TEST_CASE("an array lands only where it stays, else it asks for its bytes first") {
  using array = std::array<double, 2'000>;
  const sent_frame alone{array{1, 2}};
  CHECK((landed<array>(alone) == array{1, 2}));
  const sent_frame within{std::vector<array>(2)};
  std::vector<array> object;
  segment_reader reader{std::uint64_t{within.body.size()}};
  CHECK_THROWS_AS(decode_into(within.frame.bytes(), reader, {}, object), cannot_land);
}

TEST_CASE("a short string that claims to be a segment does not land in memory that moves") {
  const sent_frame honest(std::vector<std::string>{std::string(9'000, 'a')});
  byte_buffer frame;
  {
    frame_writer writer(frame, 1);
    frame.append(std::uint64_t{1});                // element
    frame.append(std::uint64_t{4} | segment_bit);  // characters
    segment_list list(1);
    list.add("abcd", 4);
    writer.finish(list);
  }
  std::vector<std::string> object;
  segment_reader reader{std::uint64_t{4}};
  CHECK_THROWS_AS(decode_into(frame.bytes(), reader, {}, object), cannot_land);
  CHECK((landed<std::vector<std::string>>(honest)[0] == std::string(9'000, 'a')));
}

TEST_CASE("a table that lies is refused before memory is taken") {
  refuses<std::vector<numbers>>(sent_frame(std::vector<numbers>(2, numbers(large))), 16'000, "which are left behind");
  refuses<numbers>(sent_frame{numbers(large)}, 15'999, "found a segment of 16000 bytes; expected 1 to 15999 bytes");
  refuses<numbers>(sent_frame{numbers(large)}, 16'001, "found 1 bytes behind the frame that no segment has");

  sent_frame cut{numbers(large, 1)};
  cut.frame.resize_uninitialized(cut.frame.size() - 1);
  refuses<numbers>(cut, 16'000, "8 bytes for each segment");

  sent_frame other{numbers(large, 1)};
  const std::uint64_t lie = 15'000;
  std::memcpy(other.frame.data() + other.frame.size() - sizeof lie, &lie, sizeof lie);
  refuses<numbers>(other, 15'000, "found elements of 16000 bytes; expected the segment's 15000 bytes");

  sent_frame unused{numbers(10)};
  unused.frame.append(std::uint64_t{8'000});
  refuses<numbers>(unused, 8'000, "found 1 segments that no object has asked for");
}

TEST_CASE("counts of segments that overflow are refused") {
  for (const std::uint64_t count : {std::uint64_t{1} << 62, (std::uint64_t{1} << 62) + 4'000, ~segment_bit}) {
    sent_frame sent{numbers(large)};
    const std::uint64_t lie = count | segment_bit;
    std::memcpy(sent.frame.data() + 16, &lie, sizeof lie);
    refuses<numbers>(sent, 16'000, "found");
  }
}

TEST_CASE("a key that comes twice, or as a segment, is refused") {
  byte_buffer twice;
  encode(twice, std::vector<std::pair<int, int>>{{1, 2}, {1, 3}});
  using map = std::map<int, int>;
  CHECK_THROWS_WITH_AS((void)decode<map>(twice.bytes()), doctest::Contains("found a key that was there before"),
                       decode_error);
  CHECK((std::get<0>(decode<std::multimap<int, int>>(twice.bytes())).size() == 2));
  const sent_frame keys(std::vector<std::string>{std::string(9'000, 'k')});
  refuses<std::set<std::string>>(keys, 9'000, "expected none in a key");
}

TEST_CASE("limits of segments, elements and bytes ahead are named with their values") {
  const sent_frame sent(std::vector<numbers>(3, numbers(large)));
  std::vector<numbers> object;
  const auto fails = [&](const limits& bounds, const char* text) {
    segment_reader reader{std::uint64_t{sent.body.size()}};
    CHECK_THROWS_WITH_AS(decode_into(sent.frame.bytes(), reader, bounds, object), doctest::Contains(text),
                         limit_exceeded);
  };
  fails({.max_segments = 2}, "found 3 segments; expected at most 2; raise limits::max_segments");
  fails({.max_elements = 3'999}, "found 4000 elements in one container; expected at most 3999");
  fails({.max_bytes_ahead = 40'000}, "found 48000 bytes that are to come; expected at most 40000");
}
