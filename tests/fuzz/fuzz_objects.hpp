// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/serializers/json.hpp>

#include <array>
#include <atomic>
#include <bitset>
#include <chrono>
#include <complex>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <stack>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

/// One of each kind of object that travels, with a value.
namespace weft::fuzz {

struct leaf {
  std::int32_t number = 3;
  std::string text = "leaf";

  template <class Archive>
  void serialize(Archive& archive) {
    archive(number, text);
  }
};

struct empty {};

enum class color : std::uint8_t { red, green };

struct values {
  bool flag = true;
  color hue = color::green;
  std::string text = "text";
  std::u16string wide = u"wide";
  std::vector<float> numbers{1, 2, 3};
  std::vector<bool> bits{true, false};
  std::vector<std::byte> bytes{std::byte{1}};
  std::array<bool, 2> flags{true, false};
  std::array<std::int16_t, 3> fixed{1, 2, 3};
  std::optional<leaf> optional = leaf{};
  std::variant<std::monostate, std::int32_t, std::string, leaf> variant = leaf{};
  std::bitset<77> bitset{5};
  std::complex<double> complex{1, 2};
  std::chrono::milliseconds duration{7};
  std::chrono::system_clock::time_point when{};
  std::pair<std::int8_t, std::tuple<char, std::string>> pair{1, {'t', "tuple"}};
  std::atomic<std::int64_t> atomic = 8;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(flag, hue, text, wide, numbers, bits, bytes, flags, fixed, optional, variant, bitset, complex, duration,
            when, pair, atomic);
  }
};

struct containers {
  std::vector<leaf> leaves{{1, "a"}, {2, "b"}};
  std::map<std::string, leaf> map{{"k", {}}};
  std::multimap<std::int32_t, std::string> multimap{{1, "x"}, {1, "y"}};
  std::unordered_map<std::int32_t, leaf> table{{3, {}}};
  std::unordered_multimap<std::string, bool> multitable{{"a", true}, {"a", false}};
  std::set<std::int32_t> set{1, 2};
  std::multiset<std::string> multiset{"m", "m"};
  std::unordered_set<std::string> hashed{"h"};
  std::unordered_multiset<std::int16_t> multihashed{1, 1};
  std::list<std::string> list{"x"};
  std::deque<std::vector<std::int32_t>> deque{{4}, {}};
  std::queue<leaf> queue{{{1, "q"}}};
  std::stack<std::int32_t> stack{{5}};
  std::priority_queue<std::int32_t> heap{{}, {6, 7}};
  std::map<std::set<std::string>, std::vector<bool>> keyed{{{"in", "key"}, {true}}};

  template <class Archive>
  void serialize(Archive& archive) {
    archive(leaves, map, multimap, table, multitable, set, multiset, hashed, multihashed, list, deque, queue, stack,
            heap, keyed);
  }
};

/// Elements that take no bytes.
struct empties {
  std::vector<empty> vector = std::vector<empty>(3);
  std::list<empty> list = std::list<empty>(2);
  std::deque<std::vector<empty>> nested{{empty{}}, {}};
  std::map<std::int32_t, empty> map{{1, {}}};
  std::optional<empty> optional = empty{};

  template <class Archive>
  void serialize(Archive& archive) {
    archive(vector, list, nested, map, optional);
  }
};

struct shape {
  virtual ~shape() = default;
  bool visible = true;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(visible);
  }
};
struct polygon : shape {
  std::vector<std::shared_ptr<leaf>> corners{std::make_shared<leaf>()};

  template <class Archive>
  void serialize(Archive& archive) {
    archive(cereal::base_class<shape>(this), corners);
  }
};
struct drawing : shape {
  std::vector<std::unique_ptr<shape>> parts;
  std::shared_ptr<shape> frame;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(cereal::base_class<shape>(this), parts, frame);
  }
};
/// Registered, and no shape.
struct stranger {
  virtual ~stranger() = default;
  std::string text;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(text);
  }
};

struct tree {
  std::vector<std::unique_ptr<tree>> children;
  std::shared_ptr<tree> next;
  std::weak_ptr<tree> parent;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(children, next, parent);
  }
};

/// Without a default constructor.
class made {
 public:
  explicit made(std::string text) : text_(std::move(text)) {}

  template <class Archive>
  void serialize(Archive& archive) {
    archive(text_);
  }
  template <class Archive>
  static void load_and_construct(Archive& archive, cereal::construct<made>& construct) {
    std::string text;
    archive(text);
    construct(std::move(text));
  }

 private:
  std::string text_;
};

struct pointers {
  std::unique_ptr<leaf> unique = std::make_unique<leaf>();
  std::shared_ptr<leaf> shared = std::make_shared<leaf>();
  std::shared_ptr<leaf> again = shared;
  std::shared_ptr<const std::string> other = std::make_shared<const std::string>("other");
  std::weak_ptr<leaf> weak = shared;
  std::unique_ptr<shape> polymorphic = std::make_unique<polygon>();
  std::shared_ptr<shape> shared_base = std::make_shared<drawing>();
  std::unique_ptr<stranger> foreign = std::make_unique<stranger>();
  std::unique_ptr<tree> root = std::make_unique<tree>();
  std::shared_ptr<made> constructed = std::make_shared<made>("made");
  std::unique_ptr<made> alone = std::make_unique<made>("alone");

  template <class Archive>
  void serialize(Archive& archive) {
    archive(unique, shared, again, other, weak, polymorphic, shared_base, foreign, root, constructed, alone);
  }
};

/// Old versions of it had no text.
struct versioned {
  std::int32_t number = 1;
  std::string text = "since version 1";

  template <class Archive>
  void serialize(Archive& archive, std::uint32_t version) {
    archive(number);
    if (version >= 1) archive(text);
  }
};

struct versions {
  std::vector<versioned> all = std::vector<versioned>(2);
  std::unique_ptr<versioned> one = std::make_unique<versioned>();

  template <class Archive>
  void serialize(Archive& archive) {
    archive(all, one);
  }
};

/// Looks at what it loads, so its segments have to be there.
struct checked {
  std::string text = "checked";
  std::vector<double> numbers{1};

  template <class Archive>
  void save(Archive& archive) const {
    archive(text, numbers);
  }
  template <class Archive>
  void load(Archive& archive) {
    archive(text, numbers);
    double sum = 0;
    for (const double number : numbers) sum += number;
    if (sum < 0) text = "negative";
  }
};

using numbers = std::vector<float>;

/// Whatever may be loaded before its segments have come.
struct late {
  static constexpr bool weft_late_delivery = true;

  std::vector<numbers> rows{{1, 2}, {3}};
  std::map<std::int32_t, std::string> texts{{1, "one"}, {2, "two"}};
  std::unordered_map<std::string, numbers> table{{"k", {1}}};
  std::multimap<std::int32_t, std::optional<std::string>> optionals{{1, "o"}, {1, std::nullopt}};
  std::variant<std::int32_t, numbers, std::string> variant = numbers{4, 5};
  std::list<std::string> list{"l", "m"};
  std::deque<numbers> deque{{1}, {2}};
  std::pair<std::string, std::tuple<numbers, std::vector<std::byte>>> pair{"p", {{1}, {std::byte{1}}}};
  std::unique_ptr<numbers> unique = std::make_unique<numbers>(2, 1.0F);
  std::shared_ptr<std::string> shared = std::make_shared<std::string>("shared");
  std::shared_ptr<std::string> again = shared;
  std::array<std::string, 2> strings{"s", "t"};
  std::vector<std::optional<std::variant<std::string, numbers>>> deep{std::string("deep"), std::nullopt};
  std::set<std::string> keys{"key"};

  template <class Archive>
  void serialize(Archive& archive) {
    archive(rows, texts, table, optionals, variant, list, deque, pair, unique, shared, again, strings, deep, keys);
  }
};

/// Arrays that are large enough to lie behind the frame.
struct arrays {
  static constexpr bool weft_late_delivery = true;

  std::array<double, 1'024> direct{1};
  std::unique_ptr<std::array<std::byte, 8'192>> owned = std::make_unique<std::array<std::byte, 8'192>>();
  std::optional<std::array<std::int32_t, 2'048>> optional;
  std::vector<std::array<bool, 8'192>> flags;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(direct, owned, optional, flags);
  }
};

}  // namespace weft::fuzz

CEREAL_REGISTER_TYPE(weft::fuzz::polygon)
CEREAL_REGISTER_TYPE(weft::fuzz::drawing)
CEREAL_REGISTER_TYPE(weft::fuzz::stranger)
CEREAL_CLASS_VERSION(weft::fuzz::versioned, 1)
