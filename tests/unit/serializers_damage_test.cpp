// SPDX-License-Identifier: Apache-2.0
#include "serializers_test_allocations.hpp"
#include "serializers_test_frames.hpp"

#include <doctest/doctest.h>

#include <random>
#include <string>

using namespace weft::serializers;

namespace {

struct base {
  virtual ~base() = default;
  bool flag = true;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(flag);
  }
};
struct derived : base {
  std::vector<std::shared_ptr<leaf>> leaves;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(cereal::base_class<base>(this), leaves);
  }
};

// The frames that are damaged below hold one of these.
struct values {
  bool flag = true;
  std::string text = "thread";
  std::vector<float> numbers{1, 2, 3};
  std::vector<bool> bits{true, false};
  std::array<bool, 2> flags{true, false};
  std::optional<leaf> optional = leaf{5, "o"};
  std::variant<int, std::string, leaf> variant = leaf{6, "v"};
  std::bitset<12> bitset{5};

  template <class Archive>
  void serialize(Archive& archive) {
    archive(flag, text, numbers, bits, flags, optional, variant, bitset);
  }
};

struct containers {
  std::vector<leaf> leaves{{1, "a"}, {2, "b"}};
  std::map<std::string, int> map{{"k", 1}};
  std::unordered_map<int, leaf> table{{3, {3, "c"}}};
  std::set<int> set{1, 2};
  std::list<std::string> list{"x"};
  std::deque<int> deque{4};

  template <class Archive>
  void serialize(Archive& archive) {
    archive(leaves, map, table, set, list, deque);
  }
};

struct pointers {
  std::unique_ptr<leaf> unique = std::make_unique<leaf>(leaf{8, "u"});
  std::shared_ptr<leaf> shared = std::make_shared<leaf>(leaf{9, "s"});
  std::shared_ptr<leaf> again = shared;
  std::shared_ptr<std::string> other = std::make_shared<std::string>("other");
  std::weak_ptr<leaf> weak = shared;
  std::unique_ptr<base> polymorphic = std::make_unique<derived>();
  std::shared_ptr<base> shared_base = std::make_shared<base>();

  template <class Archive>
  void serialize(Archive& archive) {
    archive(unique, shared, again, other, weak, polymorphic, shared_base);
  }
};

}  // namespace

CEREAL_REGISTER_TYPE(derived)

namespace {

/// Whether a frame has a value; anything thrown but a `decode_error` fails the test.
template <class... Ts>
bool decodes(std::span<const std::byte> frame) {
  try {
    (void)decode<Ts...>(frame);
    return true;
  } catch (const decode_error&) {
    return false;
  }
}

}  // namespace

TEST_CASE_TEMPLATE("a frame cut short at any length is refused, with and without a fitting header", T, values,
                   containers, pointers) {
  const byte_buffer frame = frame_of(T());
  REQUIRE(decodes<T>(frame.bytes()));
  for (std::size_t size = 0; size != frame.size(); ++size) {
    byte_buffer cut;
    cut.append(frame.data(), size);
    CHECK_FALSE(decodes<T>(cut.bytes()));
    if (size < sizeof(frame_header)) continue;
    const std::uint64_t body = size - sizeof(frame_header);
    std::memcpy(cut.data() + 8, &body, sizeof body);
    CHECK_FALSE(decodes<T>(cut.bytes()));
  }
}

TEST_CASE_TEMPLATE("a frame with any one byte changed gives a value or a decode_error, and allocates little", T, values,
                   containers, pointers) {
  byte_buffer frame = frame_of(T());
  forget_allocations();
  std::size_t values = 0;
  for (std::size_t at = 0; at != frame.size(); ++at) {
    const std::byte original = frame.data()[at];
    for (int change = 1; change != 256; ++change) {
      frame.data()[at] = original ^ static_cast<std::byte>(change);
      values += decodes<T>(frame.bytes()) ? 1 : 0;
    }
    frame.data()[at] = original;
  }
  CHECK(values > 0);
  CHECK(largest_allocation() < 20'000);
}

TEST_CASE_TEMPLATE("a frame with several random bytes changed gives a value or a decode_error", T, values, containers,
                   pointers) {
  const auto seed = std::random_device{}();
  INFO("seed ", seed);
  std::mt19937 random(seed);
  const byte_buffer frame = frame_of(T());
  forget_allocations();
  for (int round = 0; round != 20'000; ++round) {
    byte_buffer changed;
    changed.append(frame.data(), frame.size());
    for (int i = 0; i != 4; ++i) changed.data()[random() % frame.size()] = static_cast<std::byte>(random());
    (void)decodes<T>(changed.bytes());
  }
  CHECK(largest_allocation() < 20'000);
}

TEST_CASE_TEMPLATE("random bytes under a valid header give a value or a decode_error", T, values, containers,
                   pointers) {
  const auto seed = std::random_device{}();
  INFO("seed ", seed);
  std::mt19937 random(seed);
  for (int round = 0; round != 20'000; ++round) {
    std::array<std::uint8_t, 200> body{};
    // Small numbers pass more checks than large ones.
    for (auto& byte : body) byte = static_cast<std::uint8_t>(random() % 3 == 0 ? random() : random() % 3);
    (void)decodes<T>(frame_of(body).bytes());
  }
  CHECK_FALSE(decodes<T>({}));
}
