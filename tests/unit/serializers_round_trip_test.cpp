// SPDX-License-Identifier: Apache-2.0
#include <weft/serializers/frame.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <string>

using namespace weft::serializers;

namespace {

template <class T>
T round_trip(const T& object) {
  byte_buffer frame;
  encode(frame, object);
  return std::get<0>(decode<T>(frame.bytes()));
}

template <class T>
bool survives(const T& object) {
  return round_trip(object) == object;
}

enum class color : std::uint8_t { red, green = 200 };
enum plain_kind : int { first_kind = -1, second_kind = 5 };

struct point {
  double x = 0, y = 0;
  bool operator==(const point&) const = default;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(CEREAL_NVP(x), CEREAL_NVP(y));
  }
};

struct named {
  std::string name;
  std::vector<point> points;
  bool operator==(const named&) const = default;

  template <class Archive>
  void save(Archive& archive) const {
    archive(points, name);
  }
  template <class Archive>
  void load(Archive& archive) {
    archive(points, name);
  }
};

struct outside {
  int number = 0;
  bool operator==(const outside&) const = default;
};
template <class Archive>
void serialize(Archive& archive, outside& object) {
  archive(object.number);
}

struct evolving {
  int old_field = 0;
  std::uint32_t seen_version = 0;

  template <class Archive>
  void serialize(Archive& archive, std::uint32_t version) {
    archive(old_field);
    seen_version = version;
  }
};

struct minimal {
  std::string text;
  bool operator==(const minimal&) const = default;

  template <class Archive>
  std::string save_minimal(const Archive&) const {
    return text;
  }
  template <class Archive>
  void load_minimal(const Archive&, const std::string& saved) {
    text = saved;
  }
};

struct empty {
  bool operator==(const empty&) const = default;
};

struct arrays {
  int numbers[2][3] = {};
  bool flags[2] = {};
  point points[2];

  template <class Archive>
  void serialize(Archive& archive) {
    archive(numbers, flags, points);
  }
};

struct price {
  std::int64_t cents = 0;
  bool operator==(const price&) const = default;
};

}  // namespace

CEREAL_CLASS_VERSION(evolving, 3)

template <>
struct weft::serializers::codec<price> {
  static void encode(byte_buffer& out, const price& object) { out.append(object.cents); }
  static price decode(reader& in) { return {in.read<std::int64_t>()}; }
};

TEST_CASE("numbers survive at their extremes") {
  CHECK(survives(true));
  CHECK(survives('x'));
  CHECK(survives(std::numeric_limits<std::int8_t>::min()));
  CHECK(survives(std::numeric_limits<std::uint16_t>::max()));
  CHECK(survives(std::numeric_limits<long>::min()));
  CHECK(survives(std::numeric_limits<unsigned long long>::max()));
  CHECK(survives(-1.5F));
  CHECK(survives(std::numeric_limits<double>::denorm_min()));
  CHECK(survives(U'\U0001F9F5'));
}

TEST_CASE("enumerations survive in the width of their type") {
  CHECK(survives(color::green));
  CHECK(survives(first_kind));
  CHECK(survives(std::byte{0xFF}));
  CHECK(survives(std::vector{color::red, color::green}));
}

TEST_CASE("strings survive, with zeros and wide characters") {
  CHECK(survives(std::string()));
  CHECK(survives(std::string("a\0b", 3)));
  CHECK(survives(std::string(100'000, 'x')));
  CHECK(survives(std::u16string(u"thread")));
}

TEST_CASE("sequences survive") {
  CHECK(survives(std::vector<float>{1, 2, 3}));
  CHECK(survives(std::vector<std::byte>{std::byte{1}, std::byte{255}}));
  CHECK(survives(std::vector<bool>{true, false, true}));
  CHECK(survives(std::vector<std::string>{"a", "", "c"}));
  CHECK(survives(std::vector<std::vector<int>>{{1}, {}, {2, 3}}));
  CHECK(survives(std::array<int, 3>{1, 2, 3}));
  CHECK(survives(std::array<bool, 2>{true, false}));
  CHECK(survives(std::array<std::byte, 2>{std::byte{3}, std::byte{4}}));
  CHECK(survives(std::array<std::string, 2>{"x", "y"}));
  CHECK(survives(std::deque<int>{1, 2}));
  CHECK(survives(std::list<std::string>{"p", "q"}));
}

TEST_CASE("maps and sets survive") {
  CHECK(survives(std::map<std::string, int>{{"a", 1}, {"b", 2}}));
  CHECK(survives(std::multimap<int, int>{{1, 1}, {1, 2}}));
  CHECK(survives(std::unordered_map<int, std::vector<int>>{{1, {1}}, {2, {}}}));
  CHECK(survives(std::unordered_multimap<int, int>{{1, 1}, {1, 1}}));
  CHECK(survives(std::set<std::string>{"a", "b"}));
  CHECK(survives(std::multiset<int>{1, 1, 2}));
  CHECK(survives(std::unordered_set<int>{1, 2, 3}));
  CHECK(survives(std::unordered_multiset<int>{1, 1}));
}

TEST_CASE("vocabulary types survive") {
  CHECK(survives(std::pair<int, std::string>{1, "a"}));
  CHECK(survives(std::tuple<int, double, std::string>{1, 2.0, "c"}));
  CHECK(survives(std::tuple<>{}));
  CHECK(survives(std::optional<std::string>{}));
  CHECK(survives(std::optional<std::string>{"here"}));
  CHECK(survives(std::variant<int, std::string>{"text"}));
  CHECK(survives(std::variant<std::monostate, int>{}));
  CHECK(survives(std::bitset<75>{0x1234567}));
  CHECK(survives(std::chrono::milliseconds{250}));
  CHECK(survives(std::chrono::system_clock::now()));
  CHECK(survives(std::complex<float>{1, -1}));
}

TEST_CASE("classes survive by member and free functions, split or not") {
  CHECK(survives(point{1, 2}));
  CHECK(survives(named{"line", {{0, 0}, {1, 1}}}));
  CHECK(survives(outside{42}));
  CHECK(survives(minimal{"short"}));
  CHECK(survives(std::map<std::string, named>{{"k", {"n", {{1, 2}}}}}));
}

TEST_CASE("a versioned class is given the version of the sender") {
  const auto loaded = round_trip(evolving{7, 0});
  CHECK(loaded.old_field == 7);
  CHECK(loaded.seen_version == 3);
}

TEST_CASE("empty classes take no bytes, in containers too") {
  byte_buffer frame;
  encode(frame, empty{});
  CHECK(frame.size() == sizeof(frame_header));
  CHECK(survives(std::vector<empty>(1'000)));
  CHECK(survives(std::list<std::tuple<>>(3)));
}

TEST_CASE("C arrays survive as members") {
  arrays sent;
  sent.numbers[1][2] = 9;
  sent.flags[1] = true;
  sent.points[1] = {3, 4};
  const arrays loaded = round_trip(sent);
  CHECK(loaded.numbers[1][2] == 9);
  CHECK(loaded.flags[1]);
  CHECK(loaded.points[1] == point{3, 4});
}

TEST_CASE("a codec takes the place of cereal, at the top and inside of containers") {
  CHECK(survives(price{1'999}));
  CHECK(survives(std::map<std::string, price>{{"apple", {50}}}));
  byte_buffer frame;
  encode(frame, price{1});
  CHECK(frame.size() == sizeof(frame_header) + 8);
}

TEST_CASE("a frame holds any number of objects, none included") {
  byte_buffer frame;
  encode(frame);
  CHECK(frame.size() == sizeof(frame_header));
  CHECK(decode<>(frame.bytes()) == std::tuple<>{});

  frame.clear();
  encode(frame, 1, std::string("two"), std::vector{3.0});
  const auto [one, two, three] = decode<int, std::string, std::vector<double>>(frame.bytes());
  CHECK(one == 1);
  CHECK(two == "two");
  CHECK(three == std::vector{3.0});
}

TEST_CASE("sizes and numbers have the documented form on the wire") {
  byte_buffer frame;
  encode(frame, std::vector<std::uint16_t>{0x0102});
  const unsigned char expected[] = {'W', 'F', 2, 1, 1, 0, 0, 0, 10, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 1};
  REQUIRE(frame.size() == sizeof expected);
  CHECK(std::memcmp(frame.data(), expected, sizeof expected) == 0);
}

TEST_CASE("decode_into reuses the capacity of what it fills") {
  byte_buffer frame;
  encode(frame, std::vector<float>(100, 1.0F), std::vector<std::string>(3, std::string(50, 'n')));
  std::vector<float> numbers(200);
  std::vector<std::string> names(5, std::string(60, 'o'));
  const float* const number_memory = numbers.data();
  const char* const name_memory = names[0].data();
  decode_into(frame.bytes(), limits{}, numbers, names);
  CHECK(numbers == std::vector<float>(100, 1.0F));
  CHECK(names == std::vector<std::string>(3, std::string(50, 'n')));
  CHECK(numbers.data() == number_memory);
  CHECK(names[0].data() == name_memory);
}

TEST_CASE("decode_into reuses the values of maps for the keys that come again, and drops the others") {
  const auto check = []<class Map>(Map there) {
    const std::string text(50, 'v');
    byte_buffer frame;
    encode(frame, Map{{1, text}, {2, text}, {3, text}});
    const char* const memory = there.find(2)->second.data();
    decode_into(frame.bytes(), limits{}, there);
    CHECK(there == Map{{1, text}, {2, text}, {3, text}});
    CHECK(there.find(2)->second.data() == memory);
  };
  const std::string old(60, 'o');
  check(std::map<int, std::string>{{0, old}, {2, old}, {7, old}});
  check(std::unordered_map<int, std::string>{{0, old}, {2, old}, {7, old}});
  check(std::multimap<int, std::string>{{0, old}, {2, old}, {2, old}});
  check(std::unordered_multimap<int, std::string>{{0, old}, {2, old}, {7, old}});
}

TEST_CASE("maps whose order or hash is chosen when they run keep it when they are filled again") {
  using order = bool (*)(int, int);
  std::map<int, int, order> there(+[](int a, int b) { return a > b; });
  there = {{1, 1}, {2, 2}};
  byte_buffer frame;
  encode(frame, there);
  for (int i = 0; i < 2; ++i) decode_into(frame.bytes(), limits{}, there);
  CHECK(there.begin()->first == 2);
  CHECK(there.size() == 2);
}

TEST_CASE("encode appends, and leaves the buffer as it was when an object refuses") {
  struct refusing {
    void save(binary_output_archive& archive) const {
      archive(1);
      throw std::runtime_error("not today");
    }
    void load(binary_input_archive&) {}
  };
  byte_buffer frame;
  frame.append(std::uint8_t{9});
  CHECK_THROWS_WITH(encode(frame, 1, refusing{}), "not today");
  CHECK(frame.size() == 1);
  encode(frame, 5);
  CHECK(std::get<0>(decode<int>(frame.bytes().subspan(1))) == 5);
}
