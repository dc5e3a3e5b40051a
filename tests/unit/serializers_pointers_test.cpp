// SPDX-License-Identifier: Apache-2.0
#include <weft/serializers/frame.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <string>

using namespace weft::serializers;

namespace {

/// How the wire marks the number of a shared object whose value follows.
constexpr std::uint32_t new_object = 0x80000000;

template <class... Ts>
std::tuple<Ts...> round_trip(const Ts&... objects) {
  byte_buffer frame;
  encode(frame, objects...);
  return decode<Ts...>(frame.bytes());
}

struct node {
  int value = 0;
  std::unique_ptr<node> next;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(value, next);
  }
};

std::unique_ptr<node> list_of(int length) {
  std::unique_ptr<node> head;
  for (int i = 0; i != length; ++i) head = std::make_unique<node>(node{i, std::move(head)});
  return head;
}

struct parent;
struct child {
  std::weak_ptr<parent> up;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(up);
  }
};
struct parent {
  std::vector<std::shared_ptr<child>> children;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(children);
  }
};

struct ring {
  std::shared_ptr<ring> next;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(next);
  }
};

/// Has no default constructor.
struct sealed {
  explicit sealed(int number) : value(number) {}
  int value;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(value);
  }
  template <class Archive>
  static void load_and_construct(Archive& archive, cereal::construct<sealed>& construct) {
    int value = 0;
    archive(value);
    construct(value);
  }
};

struct other {
  std::string text;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(text);
  }
};

}  // namespace

TEST_CASE("unique_ptr survives, empty or not, and in chains") {
  CHECK(std::get<0>(round_trip(std::unique_ptr<int>())) == nullptr);
  CHECK(*std::get<0>(round_trip(std::make_unique<int>(4))) == 4);
  const auto list = std::get<0>(round_trip(list_of(3)));
  REQUIRE(list->next->next != nullptr);
  CHECK(list->value == 2);
  CHECK(list->next->next->value == 0);
  CHECK(list->next->next->next == nullptr);
}

TEST_CASE("objects without a default constructor survive behind pointers") {
  CHECK(std::get<0>(round_trip(std::make_unique<sealed>(3)))->value == 3);
  CHECK(std::get<0>(round_trip(std::make_shared<sealed>(5)))->value == 5);
}

TEST_CASE("ownership that is shared within a frame is shared after decoding, across objects too") {
  const auto shared = std::make_shared<std::string>("one");
  const auto [list, single] = round_trip(std::vector{shared, shared, std::shared_ptr<std::string>()}, shared);
  CHECK(*single == "one");
  CHECK(list[0] == single);
  CHECK(list[1] == single);
  CHECK(list[2] == nullptr);
  CHECK(single.use_count() == 3);
}

TEST_CASE("a weak_ptr leads back to the parent that is being loaded") {
  const auto top = std::make_shared<parent>();
  top->children = {std::make_shared<child>(child{top}), std::make_shared<child>()};
  const auto loaded = std::get<0>(round_trip(top));
  REQUIRE(loaded->children.size() == 2);
  CHECK(loaded->children[0]->up.lock() == loaded);
  CHECK(loaded->children[1]->up.lock() == nullptr);
}

TEST_CASE("a cycle of shared_ptr is refused instead of leaked") {
  const auto first = std::make_shared<ring>();
  first->next = std::make_shared<ring>(ring{first});
  byte_buffer frame;
  encode(frame, first);
  first->next.reset();
  CHECK_THROWS_WITH_AS((void)decode<std::shared_ptr<ring>>(frame.bytes()),
                       doctest::Contains("within object 1 to itself, which would never be freed"), decode_error);
}

TEST_CASE("a shared_ptr to an object of another type is refused") {
  byte_buffer frame;
  encode(frame, std::tuple{new_object | 1, 5}, std::uint32_t{1});
  CHECK(*std::get<1>(decode<std::shared_ptr<int>, std::shared_ptr<int>>(frame.bytes())) == 5);
  CHECK_THROWS_WITH_AS(((void)decode<std::shared_ptr<int>, std::shared_ptr<other>>(frame.bytes())),
                       doctest::Contains("at byte 28: found a shared_ptr to object 1, which is of type int"),
                       decode_error);
}

TEST_CASE("a shared_ptr to an object that the frame does not hold is refused") {
  byte_buffer frame;
  encode(frame, std::uint32_t{7});
  CHECK_THROWS_WITH_AS((void)decode<std::shared_ptr<int>>(frame.bytes()),
                       doctest::Contains("a shared_ptr to object 7; expected one of the 0 shared objects"),
                       decode_error);
}

TEST_CASE("a shared object whose number is out of turn is refused") {
  byte_buffer frame;
  encode(frame, std::tuple{new_object | 2, 5});
  CHECK_THROWS_WITH_AS((void)decode<std::shared_ptr<int>>(frame.bytes()), doctest::Contains("expected number 1"),
                       decode_error);
}

TEST_CASE("nesting is bounded by max_depth, one level for each node of a list") {
  byte_buffer frame;
  encode(frame, list_of(100));
  limits bounds;
  bounds.max_depth = 100;
  CHECK(std::get<0>(decode<std::unique_ptr<node>>(frame.bytes(), bounds))->value == 99);
  bounds.max_depth = 99;
  CHECK_THROWS_WITH_AS(
      (void)decode<std::unique_ptr<node>>(frame.bytes(), bounds),
      doctest::Contains("found 100 objects within one another; expected at most 99; raise limits::max_depth"),
      limit_exceeded);
}

TEST_CASE("the default depth stops a list of ten thousand nodes long before the stack ends") {
  std::array<std::array<std::uint8_t, 5'000>, 10> nodes;  // each of five bytes: its value, and that another follows
  for (auto& thousand : nodes) thousand.fill(1);
  byte_buffer frame;
  encode(frame, nodes);
  CHECK_THROWS_WITH_AS((void)decode<std::unique_ptr<node>>(frame.bytes()), doctest::Contains("raise limits::max_depth"),
                       decode_error);
}
