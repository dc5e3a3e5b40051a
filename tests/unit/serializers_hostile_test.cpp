// SPDX-License-Identifier: Apache-2.0
#include <weft/serializers/frame.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <random>
#include <string>

using namespace weft::serializers;

namespace {
std::atomic<std::size_t> largest_allocation = 0;
}  // namespace

// Not inlined: g++ 12 would see malloc meet delete, and warn.
[[gnu::noinline]] void* operator new(std::size_t size) {
  largest_allocation = std::max(largest_allocation.load(), size);
  if (void* const memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace {

struct empty {};

struct leaf {
  int number = 0;
  std::string text;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(number, text);
  }
};

struct large {
  std::array<double, 1'000> numbers{};

  template <class Archive>
  void serialize(Archive& archive) {
    archive(numbers);
  }
};

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

template <class... Ts>
byte_buffer frame_of(const Ts&... objects) {
  byte_buffer frame;
  encode(frame, objects...);
  return frame;
}

/// Decodes a frame that need not be valid: a value or a `decode_error`, and no allocation out of proportion.
template <class... Ts>
bool decodes(std::span<const std::byte> frame) {
  try {
    (void)decode<Ts...>(frame);
    return true;
  } catch (const decode_error&) {
    return false;
  }
}

/// Whether decoding fails without allocating more than so many bytes at once.
template <class T>
void refuses_within(std::size_t bytes, const byte_buffer& frame, const char* reason) {
  largest_allocation = 0;
  std::string text;
  try {
    (void)decode<T>(frame.bytes());
  } catch (const decode_error& problem) {
    const std::size_t largest = largest_allocation;
    text = problem.what();
    CHECK(largest <= bytes);
  }
  CHECK_MESSAGE(text.find(reason) != std::string::npos, text);
}

}  // namespace

TEST_CASE("sizes beyond the frame are refused before memory is taken for them") {
  for (const std::uint64_t size : {std::uint64_t{1} << 27, std::uint64_t{1} << 60, ~std::uint64_t{0}}) {
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
                       doctest::Contains("found more than 10 elements that take no bytes"), decode_error);
}

TEST_CASE("a bool is 0 or 1, alone, in arrays and in vectors") {
  const byte_buffer frame = frame_of(std::uint8_t{7});
  CHECK_THROWS_WITH_AS((void)decode<bool>(frame.bytes()),
                       "frame does not decode: at byte 16: found a bool of value 7; expected 0 or 1", decode_error);
  const byte_buffer array = frame_of(std::array<std::uint8_t, 3>{1, 0, 7});
  CHECK_THROWS_WITH_AS(((void)decode<std::array<bool, 3>>(array.bytes())),
                       doctest::Contains("at byte 18: found a bool"), decode_error);
  const byte_buffer vector = frame_of(std::vector<std::uint8_t>{1, 7});
  CHECK_THROWS_AS((void)decode<std::vector<bool>>(vector.bytes()), decode_error);
}

TEST_CASE("the index of a variant must name an alternative") {
  for (const std::int32_t index : {-1, 2, 1 << 30}) {
    CHECK_FALSE(decodes<std::variant<int, float>>(frame_of(std::pair(index, 0)).bytes()));
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
  fails_with(changed(2, 9), "at byte 2: found frame version 9; expected 1");
  fails_with(changed(3, 2), "at byte 3: found serializer 2; expected 1");
  fails_with(changed(4, 3), "at byte 4: found the number of objects 3; expected 1");
  fails_with(changed(8, 5), "at byte 8: found the length of the body 5; expected 4");
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
  largest_allocation = 0;
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
  CHECK(largest_allocation < 20'000);
}

TEST_CASE_TEMPLATE("a frame with several random bytes changed gives a value or a decode_error", T, values, containers,
                   pointers) {
  const auto seed = std::random_device{}();
  INFO("seed ", seed);
  std::mt19937 random(seed);
  const byte_buffer frame = frame_of(T());
  largest_allocation = 0;
  for (int round = 0; round != 20'000; ++round) {
    byte_buffer changed;
    changed.append(frame.data(), frame.size());
    for (int i = 0; i != 4; ++i) changed.data()[random() % frame.size()] = static_cast<std::byte>(random());
    (void)decodes<T>(changed.bytes());
  }
  CHECK(largest_allocation < 20'000);
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
