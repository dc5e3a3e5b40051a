// SPDX-License-Identifier: Apache-2.0
// JSON as people and other languages see it: its form, what is accepted, and what is refused by name.
#include "serializers_test_frames.hpp"
#include "serializers_test_json.hpp"
#include "serializers_test_shapes.hpp"

#include <weft/serializers/json.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

using namespace weft::serializers;

namespace {

/// With names, and with what may be missing.
struct order {
  int count = 1;
  std::string customer = "nobody";
  std::vector<int> prices{7};
  std::chrono::seconds patience{60};

  template <class Archive>
  void serialize(Archive& archive) {
    archive(CEREAL_NVP(count), CEREAL_NVP(customer), CEREAL_NVP(prices), CEREAL_NVP(patience));
  }
  friend bool operator==(const order&, const order&) = default;
};

/// With a member that is a range of bytes.
struct keyed {
  std::array<std::uint16_t, 2> key{1, 2};

  template <class Archive>
  void serialize(Archive& archive) {
    archive(cereal::make_nvp("key", cereal::binary_data(key.data(), sizeof key)));
  }
};

/// Its load reads into a variable first.
struct careful {
  int number = 0;

  template <class Archive>
  void save(Archive& archive) const {
    archive(cereal::make_nvp("number", number));
  }
  template <class Archive>
  void load(Archive& archive) {
    int read;
    archive(cereal::make_nvp("number", read));
    number = read;
  }
};

struct nested {
  std::vector<nested> within;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(CEREAL_NVP(within));
  }
};

enum class color : std::uint8_t { red, green = 200 };

struct circle : shape {
  double radius = 0;
  double area() const override { return 3 * radius * radius; }

  template <class Archive>
  void serialize(Archive& archive) {
    archive(cereal::make_nvp("shape", cereal::base_class<shape>(this)), CEREAL_NVP(radius));
  }
};

}  // namespace

CEREAL_REGISTER_TYPE(circle)

TEST_CASE("JSON names members as their functions do, and numbers those without a name") {
  CHECK(json_of(order{2, "Ada", {1, -2}, std::chrono::seconds(3)}) ==
        R"([{"count":2,"customer":"Ada","prices":[1,-2],"patience":{"count":3}}])");
  CHECK(json_of(leaf{4, "four"}, 5) == R"([{"value0":4,"value1":"four"},5])");
}

TEST_CASE("JSON has a documented form for every kind of value") {
  CHECK(json_of(true, -1, 2U, 1.5, 0.1F, 'a', color::green) == "[true,-1,2,1.5,0.1,97,200]");
  CHECK(json_of(std::string("\"\\\n\x01\xC3\xA9")) == "[\"\\\"\\\\\\n\\u0001\xC3\xA9\"]");
  CHECK(json_of(std::vector<std::byte>(4, std::byte{255}), std::vector<unsigned char>{1, 2, 3}) ==
        R"(["/////w==","AQID"])");
  CHECK(json_of(std::map<std::string, int>{{"a", 1}}, std::map<int, int>{{1, 2}}) == R"([{"a":1},[[1,2]]])");
  CHECK(json_of(std::optional<int>(), std::optional<int>(3)) == "[null,3]");
  CHECK(json_of(std::optional<std::optional<int>>(std::in_place)) == "[[null]]");
  CHECK(json_of(std::pair(1, std::string("a")), std::tuple<>()) == R"([[1,"a"],[]])");
  CHECK(json_of(std::variant<int, bool>(true)) == R"([{"index":1,"data":true}])");
  CHECK(json_of(std::make_unique<int>(3)) == R"([{"ptr_wrapper":{"valid":1,"data":3}}])");
  CHECK(json_of(std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<float>::infinity()) ==
        R"(["nan","-inf"])");
  CHECK(json_of() == "[]");
}

TEST_CASE("a polymorphic object is the same in JSON as cereal has it") {
  auto made = std::make_unique<circle>();
  made->radius = 2;
  const std::unique_ptr<shape> sent = std::move(made);
  const std::string text = json_of(sent);
  CHECK(text == R"([{"polymorphic_id":2147483649,"polymorphic_name":"circle","ptr_wrapper":{"valid":1,)"
                R"("data":{"shape":{"value0":0},"radius":2}}}])");
  const auto got = from_json<std::unique_ptr<shape>>(text);
  REQUIRE(got);
  CHECK(got->area() == 12);
}

TEST_CASE("numbers survive JSON exactly") {
  const auto survives = [](auto value) { return from_json<decltype(value)>(json_of(value)) == value; };
  CHECK(survives(std::numeric_limits<std::int64_t>::min()));
  CHECK(survives(std::numeric_limits<std::uint64_t>::max()));
  CHECK(survives(std::numeric_limits<double>::denorm_min()));
  CHECK(survives(std::numeric_limits<double>::max()));
  CHECK(survives(std::numeric_limits<float>::denorm_min()));
  CHECK(survives(0.1));
  CHECK(survives(5e22));
  CHECK(survives(-std::numeric_limits<double>::infinity()));
  CHECK(std::signbit(from_json<double>(json_of(-0.0))));
  CHECK(std::isnan(from_json<float>(R"(["nan"])")));
}

TEST_CASE("keys come in any order, unknown ones are passed over, and missing ones leave members as they are") {
  const order got = from_json<order>(R"( [ {"new":{"a":[1,{"b":null}]}, "customer":"Ada", "count":3} ] )");
  CHECK(got == order{3, "Ada", {7}, std::chrono::seconds(60)});
  CHECK(from_json<order>("[{}]") == order{});
  CHECK(from_json<leaf>(R"([{"value1":"only"}])").text == "only");
  CHECK(from_json<keyed>("[{}]").key == keyed().key);
}

TEST_CASE("what a load function reads into a variable must be there") {
  CHECK(from_json<careful>(R"([{"number":4}])").number == 4);
  refuses_json<careful>("[{}]", R"(no key "number")");
  refuses_json<std::chrono::seconds>("[{}]", R"(no key "count")");
  refuses_json<std::unique_ptr<int>>(R"([{"ptr_wrapper":{}}])", R"(no key "valid")");
  refuses_json<std::shared_ptr<int>>(R"([{"ptr_wrapper":{"id":2147483649}}])", R"(no key "data")");
  refuses_json<std::variant<int, bool>>("[{}]", R"(no key "index")");
}

TEST_CASE("numbers that do not fit are refused, with their place") {
  refuses_json<std::uint8_t>("[400]", "found the number 400 at [0]; expected an integer from 0 to 255 (u8)");
  refuses_json<std::int8_t>("[-129]", "an integer from -128 to 127 (i8)");
  refuses_json<unsigned>("[-1]", "an integer from 0 to 4294967295");
  refuses_json<int>("[1.0]", "the number 1.0");
  refuses_json<std::uint64_t>("[18446744073709551616]", "the number 18446744073709551616");
  refuses_json<float>("[1e39]", "fits into f32");
  refuses_json<double>("[1e999]", "");
  refuses_json<std::vector<order>>(R"([[{},{"prices":[1,2,"three"]}]])", "at [0][1].prices[2]");
}

TEST_CASE("values of another kind are refused") {
  refuses_json<int>("[true]", "found true at [0]; expected an integer");
  refuses_json<bool>("[1]", "found a number (1) at [0]; expected true or false");
  refuses_json<std::string>("[null]", "expected a string");
  refuses_json<double>(R"(["Infinity"])", R"(one of "nan", "inf" and "-inf")");
  refuses_json<std::vector<int>>("[{}]", "expected an array");
  refuses_json<order>("[3]", "expected an object");
  refuses_json<std::array<int, 3>>("[[1,2]]", "an array of 2 elements");
  refuses_json<std::vector<std::byte>>(R"(["AQI"])", "base64");
  refuses_json<std::vector<std::byte>>(R"(["AQJ="])", "base64");
  refuses_json<std::array<std::byte, 2>>(R"(["AQID"])", "base64 of 2 bytes");
  refuses_json<std::set<int>>("[[1,1]]", "a key that was there before");
  refuses_json<std::variant<int, bool>>(R"([{"index":-1,"data":1}])", "cannot be loaded");
  refuses_json<std::variant<int, bool>>(R"([{"index":2,"data":1}])", "cannot be loaded");
  refuses_json<int>("[1,2]", "an array of 2 elements");
  refuses_json<int>("7", "expected an array");
}

TEST_CASE("what is no JSON is refused, with its place") {
  for (const char* text : {"", "[", "[1", "[1,]", "[01]", "[+1]", "[.5]", "[nan]", "[1]x", "{\"a\":1", "['a']",
                           "[\"\n\"]", "[\"\\ud800\"]", "[\"\xC0\x80\"]", "[\"\xED\xA0\x80\"]", "[\"\xFF\"]", "[1]//"})
    refuses_json<std::vector<int>>(text, "at byte ");
  refuses_json<int>(std::string("[1]\0[2]", 7), "no JSON");
  refuses_json<order>(R"([{"count":1,"count":2}])", R"(the key "count" twice in an object)");
}

TEST_CASE("escapes that are half of a surrogate pair are refused") {
  for (const char* escape : {R"(\ud800)", R"(\ud800x)", R"(\ud800\ud800)", R"(\udc00)", R"(x\udfff\ud800)"}) {
    refuses_json<std::string>("[\"" + std::string(escape) + "\"]", "at byte ");
    refuses_json<std::map<std::string, int>>("[{\"" + std::string(escape) + "\":1}]", "at byte ");
  }
  CHECK(from_json<std::string>(R"(["\ud83d\ude00\ud7ff\ue000"])") == "\xF0\x9F\x98\x80\xED\x9F\xBF\xEE\x80\x80");
}

TEST_CASE("no container has more elements than the limits allow") {
  constexpr limits three{.max_elements = 3};
  const auto is_refused = [&]<class T>(const T& object) {
    try {
      (void)from_json<T>(json_of(object), three);
    } catch (const limit_exceeded&) {
      return true;
    }
    return false;
  };
  const auto is_refused_above = [&]<class T>(T object) {
    object.resize(3);
    CHECK_FALSE(is_refused(object));
    object.resize(4);
    CHECK(is_refused(object));
  };
  is_refused_above(std::string());
  is_refused_above(std::u16string());
  is_refused_above(std::vector<std::byte>());
  is_refused_above(std::vector<bool>());
  is_refused_above(std::vector<int>());
  is_refused_above(std::list<int>());
  CHECK(is_refused(std::set<int>{1, 2, 3, 4}));
  CHECK(is_refused(std::map<int, int>{{1, 1}, {2, 2}, {3, 3}, {4, 4}}));
  CHECK_FALSE(is_refused(std::map<std::string, int>{{"key", 1}}));
  CHECK(is_refused(std::map<std::string, int>{{"keys", 1}}));
}

TEST_CASE("a million brackets are refused, and so are objects nested too deep") {
  refuses_json<nested>(std::string(1'000'000, '['), "raise limits::max_depth");
  std::string deep = "[";
  for (int i = 0; i != 300; ++i) deep += R"({"within":[)";
  for (int i = 0; i != 300; ++i) deep += "]}";
  refuses_json<nested>(deep + "]", "raise limits::max_depth");
}

TEST_CASE("a string that is not UTF-8 is refused where it is sent") {
  CHECK_THROWS_WITH_AS((void)json_of(std::string("\xFF")), doctest::Contains("not UTF-8"), std::invalid_argument);
}

TEST_CASE("shared objects are shared after JSON, and one that lies about a pointer is refused") {
  const auto shared = std::make_shared<leaf>(leaf{1, "one"});
  const auto got = from_json<std::vector<std::shared_ptr<leaf>>>(json_of(std::vector{shared, shared}));
  REQUIRE(got.size() == 2);
  CHECK(got[0] == got[1]);
  CHECK(got[0]->text == "one");
  refuses_json<std::shared_ptr<leaf>>(R"([{"ptr_wrapper":{"id":1}}])", "a shared_ptr to object 1");
  refuses_json<std::pair<std::shared_ptr<leaf>, std::shared_ptr<int>>>(
      R"([[{"ptr_wrapper":{"id":2147483649,"data":{}}},{"ptr_wrapper":{"id":1}}]])", "an object of type int");
}

TEST_CASE("the frame says what it holds: JSON is read by who accepts it, and binary frames by all") {
  byte_buffer frame;
  segment_list none_sent;
  json::encode(frame, none_sent, 5);
  CHECK_THROWS_WITH_AS((void)decode<int>(frame.bytes()), doctest::Contains("found serializer 2 (JSON)"), decode_error);
  int number = 0;
  segment_reader none(std::span<const std::byte>{});
  json::decode_into(frame_of(6).bytes(), none, {}, number);
  CHECK(number == 6);
}

TEST_CASE("damaged JSON is refused or read, and nothing else happens") {
  order sent{2, "Ada", {1, 2, 3}, std::chrono::seconds(3)};
  const std::string text = json_of(std::vector<order>(3, sent));
  for (std::size_t i = 0; i != text.size(); ++i) {
    for (const char other : {'\0', '"', '{', '}', '[', ']', ',', ':', '9', '-', 'e', '\\', '\xFF'}) {
      std::string damaged = text;
      damaged[i] = other;
      try {
        (void)from_json<std::vector<order>>(damaged);
      } catch (const decode_error&) {
        continue;
      }
    }
    CHECK_THROWS_AS((void)from_json<std::vector<order>>(text.substr(0, i)), decode_error);
  }
}
