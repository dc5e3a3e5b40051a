// SPDX-License-Identifier: Apache-2.0
#include <weft/serializers/frame.hpp>

#include "serializers_test_shapes.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>

using namespace weft::serializers;

CEREAL_REGISTER_TYPE(square)

namespace {

struct animal {
  virtual ~animal() = default;
  std::string name;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(name);
  }
};

struct dog : animal {
  template <class Archive>
  void serialize(Archive& archive) {
    archive(cereal::base_class<animal>(this));
  }
};

std::unique_ptr<shape> make_square(double side) {
  auto made = std::make_unique<square>();
  made->layer = 2;
  made->side = side;
  return made;
}

byte_buffer frame_of_square() {
  byte_buffer frame;
  encode(frame, make_square(3));
  return frame;
}

}  // namespace

CEREAL_REGISTER_TYPE(dog)

TEST_CASE("a registered class survives behind pointers to its base") {
  const byte_buffer frame = frame_of_square();
  const auto loaded = std::get<0>(decode<std::unique_ptr<shape>>(frame.bytes()));
  REQUIRE(dynamic_cast<square*>(loaded.get()) != nullptr);
  CHECK(loaded->area() == 9);
  CHECK(loaded->layer == 2);
}

TEST_CASE("shared polymorphic objects stay shared, and weak pointers find them") {
  const std::shared_ptr<shape> shared = make_square(2);
  byte_buffer frame;
  encode(frame, shared, shared, std::weak_ptr<shape>(shared));
  const auto [first, second, weak] =
      decode<std::shared_ptr<shape>, std::shared_ptr<shape>, std::weak_ptr<shape>>(frame.bytes());
  CHECK(first->area() == 4);
  CHECK(first == second);
  CHECK(weak.lock() == first);
}

TEST_CASE("a concrete base needs no registration, and null stays null") {
  auto plain = std::make_unique<animal>();
  plain->name = "any";
  byte_buffer frame;
  encode(frame, plain, std::unique_ptr<animal>(), std::shared_ptr<shape>());
  const auto [loaded, none, nothing] =
      decode<std::unique_ptr<animal>, std::unique_ptr<animal>, std::shared_ptr<shape>>(frame.bytes());
  CHECK(loaded->name == "any");
  CHECK(none == nullptr);
  CHECK(nothing == nullptr);
}

TEST_CASE("a class registered where weft's archives were not seen is refused with a way out") {
  byte_buffer frame;
  CHECK_THROWS_WITH_AS(encode(frame, make_stray()), doctest::Contains("CEREAL_REGISTER_TYPE"), cereal::Exception);
  CHECK(frame.empty());
}

TEST_CASE("a class name that nobody registered is refused") {
  byte_buffer frame = frame_of_square();
  // The name stands after the header, its id and its length.
  frame.data()[sizeof(frame_header) + 4 + 8] = std::byte{'S'};
  CHECK_THROWS_WITH_AS((void)decode<std::unique_ptr<shape>>(frame.bytes()),
                       doctest::Contains("unregistered polymorphic type (Square)"), decode_error);
}

TEST_CASE("a registered class that is not derived from the base is refused before it is made") {
  const byte_buffer frame = frame_of_square();
  CHECK_THROWS_WITH_AS((void)decode<std::unique_ptr<animal>>(frame.bytes()),
                       doctest::Contains("found an object of type square; expected a class derived from"),
                       decode_error);
  byte_buffer shared;
  encode(shared, std::shared_ptr<shape>(make_square(1)));
  CHECK_THROWS_AS((void)decode<std::shared_ptr<animal>>(shared.bytes()), decode_error);
}
