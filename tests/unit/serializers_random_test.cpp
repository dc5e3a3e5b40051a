// SPDX-License-Identifier: Apache-2.0
// Random objects of every kind come out of each format as they went in.
#include "serializers_random_graph.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

using namespace weft::serializers;
using namespace random_graph;

CEREAL_REGISTER_TYPE(random_graph::whale)
CEREAL_REGISTER_TYPE(random_graph::ant)

namespace {

/// Draws objects.
class maker {
 public:
  explicit maker(std::uint64_t seed) : random_(seed) {}

  node make_node(int depth) {
    node made{make_values(), make_containers(), make_lookups(), {}, {}, {}, {}, {}};
    for (std::size_t left = depth > 0 ? below(3) : 0; left != 0; --left) made.children.push_back(make_node(depth - 1));
    if (depth > 0 && coin()) made.owned = std::make_unique<node>(make_node(depth - 1));
    if (coin()) made.shared = std::make_shared<containers>(make_containers());
    if (coin()) made.shared_again = coin() ? made.shared : std::make_shared<containers>(make_containers());
    if (coin()) made.pet = make_animal();
    return made;
  }
  std::size_t below(std::size_t bound) { return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random_); }

 private:
  bool coin() { return below(2) == 0; }
  template <class T = int>
  T any() {
    return static_cast<T>(random_());
  }
  template <class Float, class Bits>
  Float any_float() {
    const auto drawn = std::bit_cast<Float>(static_cast<Bits>(random_()));
    return std::isnan(drawn) ? Float{-0.5} : drawn;  // which equals nothing
  }
  double any_double() { return any_float<double, std::uint64_t>(); }
  float any_single() { return any_float<float, std::uint32_t>(); }

  std::string any_text() {
    static constexpr const char* pieces[] = {"a", "\"", "\\", "\n", "\xC3\xA9", "\xF0\x9F\xA7\xB5", " ", "}", "0"};
    std::string text(below(20) == 0 ? 10'000 : 0, 'x');
    for (std::size_t left = below(8); left != 0; --left) text += pieces[below(std::size(pieces))];
    if (coin()) text += '\0';
    return text;
  }
  /// Few elements, or so many that they travel apart.
  std::size_t any_count() { return below(10) == 0 ? 3'000 + below(20) : below(5); }
  template <class Make>
  auto many(Make make) {
    std::vector<decltype(make())> made(any_count());
    for (auto& one : made) one = make();
    return made;
  }
  template <class Container, class Make>
  Container some(Make make) {
    Container made;
    for (std::size_t left = below(5); left != 0; --left) made.insert(made.end(), make());
    return made;
  }

  particle any_particle() { return {any_double(), {any_single(), any_single(), any_single()}, any()}; }
  std::unique_ptr<animal> make_animal() {
    if (coin()) {
      auto made = std::make_unique<whale>();
      made->age = any();
      made->song = many([this] { return any_single(); });
      return made;
    }
    auto made = std::make_unique<ant>();
    made->colony = any_text();
    return made;
  }

  values make_values() {
    return {coin(),
            any<std::int8_t>(),
            any<std::uint16_t>(),
            any<std::int64_t>(),
            any<std::uint64_t>(),
            any<char>(),
            any<char32_t>(),
            any_single(),
            any_double(),
            coin() ? color::red : color::green,
            std::bitset<75>(random_()) << below(12),
            std::chrono::milliseconds(any()),
            std::chrono::system_clock::time_point(std::chrono::system_clock::duration(any<std::int64_t>())),
            {any_single(), any_single()},
            {any<std::int64_t>()},
            any_particle()};
  }

  containers make_containers() {
    containers made;
    made.text = any_text();
    made.wide_text = some<std::u16string>([this] { return any<char16_t>(); });
    made.numbers = many([this] { return any_double(); });
    made.flags = some<std::vector<bool>>([this] { return coin(); });
    made.bytes = many([this] { return any<std::byte>(); });
    made.points = many([this] { return any_particle(); });
    made.texts = some<std::vector<std::vector<std::string>>>(
        [this] { return some<std::vector<std::string>>([this] { return any_text(); }); });
    made.two_texts = {any_text(), any_text()};
    made.three_numbers = {any_single(), any_single(), any_single()};
    made.two_points = {any_particle(), any_particle()};
    made.grid[1][below(3)] = any();
    made.queue = some<std::deque<std::string>>([this] { return any_text(); });
    made.list = some<std::list<int>>([this] { return any(); });
    return made;
  }

  lookups make_lookups() {
    const auto number = [this] { return any(); };
    const auto text = [this] { return any_text(); };
    lookups made;
    made.by_text = some<decltype(made.by_text)>([&] { return std::pair(any_text(), some<std::vector<int>>(number)); });
    made.by_number = some<decltype(made.by_number)>([&] { return std::pair(any(), any_text()); });
    made.many = some<decltype(made.many)>([&] { return std::pair(coin() ? "twice" : any_text(), any()); });
    made.hashed = some<decltype(made.hashed)>([&] { return std::pair(any_text(), price{any()}); });
    made.hashed_many = some<decltype(made.hashed_many)>([&] { return std::pair(coin() ? 1 : any(), any()); });
    made.set = some<decltype(made.set)>(text);
    made.multiset = some<decltype(made.multiset)>([&] { return coin() ? 1 : any(); });
    made.hashed_set = some<decltype(made.hashed_set)>(number);
    made.pair = {any(), any_text()};
    made.tuple = {any_text(), any_double(), any()};
    if (coin()) made.optional = any_text();
    if (coin()) made.twice_optional.emplace();
    if (made.twice_optional && coin()) *made.twice_optional = any();
    if (coin()) made.variant = any();
    if (coin()) made.variant = any_text();
    if (coin()) made.variant = many([this] { return any_single(); });
    return made;
  }

  std::mt19937_64 random_;
};

std::vector<std::byte> body_of(const segment_list& segments) {
  std::vector<std::byte> body;
  for (const segment& one : segments.segments()) body.insert(body.end(), one.data, one.data + one.bytes);
  return body;
}

template <class Format>
node copied(const byte_buffer& frame, const std::vector<std::byte>& body) {
  node object;
  int last = 0;
  segment_reader segments{std::span(body)};
  Format::decode_into(frame.bytes(), segments, {}, object, last);
  CHECK(last == 7);
  return object;
}

node landed(const byte_buffer& frame, const std::vector<std::byte>& body) {
  node object;
  int last = 0;
  segment_reader segments{std::uint64_t{body.size()}};
  decode_into(frame.bytes(), segments, {}, object, last);
  const std::byte* next = body.data();
  for (const landing_place& one : segments.places()) {
    std::memcpy(one.data, next, one.bytes);
    next += one.bytes;
  }
  CHECK(next == body.data() + body.size());
  return object;
}

}  // namespace

TEST_CASE("random objects of every kind survive every format, with segments and without") {
  const std::uint64_t first = std::random_device()();
  std::size_t apart = 0;
  for (std::uint64_t seed = first; seed != first + 40; ++seed) {
    CAPTURE(seed);
    maker draw(seed);
    const node sent = draw.make_node(3);

    byte_buffer plain;
    encode(plain, sent, 7);
    CHECK((copied<binary>(plain, {}) == sent));
    CHECK((copied<json>(plain, {}) == sent));

    constexpr std::size_t thresholds[] = {1, 100, default_segment_threshold};
    const std::size_t threshold = thresholds[draw.below(std::size(thresholds))];
    segment_list segments(threshold);
    byte_buffer frame;
    encode(frame, segments, sent, 7);
    const std::vector<std::byte> body = body_of(segments);
    apart += body.size();
    CHECK((copied<binary>(frame, body) == sent));
    try {
      const node got = landed(frame, body);
      CHECK((got == sent));
    } catch (const cannot_land&) {
      CHECK(threshold == 1);  // a short string lies within an object that moves
    }

    segment_list none;
    byte_buffer text;
    json::encode(text, none, sent, 7);
    CHECK(none.segments().empty());
    CHECK((copied<json>(text, {}) == sent));
  }
  CHECK(apart != 0);
}
