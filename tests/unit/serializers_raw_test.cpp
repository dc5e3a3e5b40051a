// SPDX-License-Identifier: Apache-2.0
// Types that travel as the bytes that they are: which may, and what their receiver checks.
#include "serializers_test_frames.hpp"
#include "serializers_test_json.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <map>
#include <vector>

using namespace weft::serializers;

namespace {

struct particle {
  static constexpr bool weft_raw = true;
  double mass;
  float position[3];
  std::int32_t kind;
  friend bool operator==(const particle&, const particle&) = default;
};

struct padded {
  char letter;
  int number;
};
struct flagged {
  std::uint32_t number;
  bool flags[4];
};
struct pointing {
  int* to;
};

/// What a sender with another layout would send under the same name.
struct wider {
  static constexpr bool weft_raw = true;
  double mass;
  double position[4];
};

/// Raw in binary frames, with names in JSON.
struct pixel {
  static constexpr bool weft_raw = true;
  std::uint8_t red, green, blue;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(CEREAL_NVP(red), CEREAL_NVP(green), CEREAL_NVP(blue));
  }
  friend bool operator==(const pixel&, const pixel&) = default;
};

struct cloud {
  particle first;
  std::vector<particle> rest;
  std::array<particle, 2> pair;
  std::map<int, particle> named;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(first, rest, pair, named);
  }
  friend bool operator==(const cloud&, const cloud&) = default;
};

constexpr particle one{1.5, {1, 2, 3}, 4};

}  // namespace

TEST_CASE("padding, flags and pointers keep a type from being raw, and floating point does not") {
  static_assert(raw_layout<particle> && raw_layout<wider> && raw_layout<pixel>);
  static_assert(!raw_layout<padded> && !raw_layout<flagged> && !raw_layout<pointing> && !raw_layout<leaf>);
  static_assert(raw<particle> && !raw<padded> && !raw<leaf> && !raw<int>);
  static_assert(late_delivery<particle> && late_delivery<std::vector<particle>>);
}

TEST_CASE("a raw object is its size and its bytes") {
  const byte_buffer frame = frame_of(one);
  const auto body = frame.bytes().subspan(sizeof(frame_header));
  REQUIRE(body.size() == sizeof(std::uint32_t) + sizeof one);
  CHECK(std::memcmp(body.data() + sizeof(std::uint32_t), &one, sizeof one) == 0);
  CHECK((std::get<0>(decode<particle>(frame.bytes())) == one));
}

TEST_CASE("raw objects survive within others, and ranges of them are one piece") {
  const cloud sent{one, std::vector<particle>(10, one), {one, one}, {{7, one}}};
  CHECK((std::get<0>(decode<cloud>(frame_of(sent).bytes())) == sent));
  const byte_buffer frame = frame_of(std::vector<particle>(100, one));
  CHECK(frame.size() == sizeof(frame_header) + sizeof(std::uint32_t) + sizeof(std::uint64_t) + 100 * sizeof one);
}

TEST_CASE("a large range of raw objects is left where it lies, and lands in place") {
  const std::vector<particle> sent(1'000, one);
  byte_buffer frame;
  segment_list segments;
  encode(frame, segments, sent);
  REQUIRE(segments.segments().size() == 1);
  CHECK(segments.segments()[0].data == reinterpret_cast<const std::byte*>(sent.data()));

  std::vector<particle> got;
  segment_reader coming(segments.bytes());
  decode_into(frame.bytes(), coming, {}, got);
  REQUIRE(coming.places().size() == 1);
  std::memcpy(coming.places()[0].data, sent.data(), coming.places()[0].bytes);
  CHECK((got == sent));
}

TEST_CASE("a receiver whose type has another size says so, of objects and of ranges") {
  constexpr auto reason = "found objects of 24 bytes; expected 40 bytes";
  CHECK_THROWS_WITH_AS((void)decode<wider>(frame_of(one).bytes()), doctest::Contains(reason), decode_error);
  const byte_buffer range = frame_of(std::vector<particle>(5, one));
  CHECK_THROWS_WITH_AS((void)decode<std::vector<wider>>(range.bytes()), doctest::Contains(reason), decode_error);
  const byte_buffer array = frame_of(std::array<particle, 2>{one, one});
  using wider_array = std::array<wider, 2>;
  CHECK_THROWS_WITH_AS((void)decode<wider_array>(array.bytes()), doctest::Contains(reason), decode_error);
}

TEST_CASE("in JSON a raw type has its members if it names them, and else its bytes") {
  CHECK(json_of(pixel{1, 2, 3}) == R"([{"red":1,"green":2,"blue":3}])");
  CHECK((from_json<pixel>(json_of(pixel{1, 2, 3})) == pixel{1, 2, 3}));
  CHECK((std::get<0>(decode<pixel>(frame_of(pixel{4, 5, 6}).bytes())) == pixel{4, 5, 6}));
  CHECK((from_json<particle>(json_of(one)) == one));
  refuses_json<wider>(json_of(one), "base64 of 40 bytes");
}
