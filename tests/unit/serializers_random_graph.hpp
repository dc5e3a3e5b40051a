// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/serializers/json.hpp>

#include <array>
#include <bitset>
#include <chrono>
#include <complex>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

/// Objects that have a member of every kind that can be serialized.
namespace random_graph {

enum class color : std::uint8_t { red, green = 200 };

/// Copied as its bytes.
struct particle {
  static constexpr bool weft_raw = true;
  double mass;
  float position[3];
  std::int32_t kind;
  friend bool operator==(const particle&, const particle&) = default;
};

/// Written by a codec.
struct price {
  std::int64_t cents = 0;
  friend bool operator==(const price&, const price&) = default;
};

/// Behind a pointer to its base.
struct animal {
  virtual ~animal() = default;
  [[nodiscard]] virtual bool equals(const animal& other) const = 0;
  int age = 0;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(CEREAL_NVP(age));
  }
};
struct whale final : animal {
  std::vector<float> song;
  [[nodiscard]] bool equals(const animal& other) const override {
    const auto* same = dynamic_cast<const whale*>(&other);
    return same != nullptr && same->age == age && same->song == song;
  }

  template <class Archive>
  void serialize(Archive& archive) {
    archive(cereal::base_class<animal>(this), CEREAL_NVP(song));
  }
};
struct ant final : animal {
  std::string colony;
  [[nodiscard]] bool equals(const animal& other) const override {
    const auto* same = dynamic_cast<const ant*>(&other);
    return same != nullptr && same->age == age && same->colony == colony;
  }

  template <class Archive>
  void serialize(Archive& archive) {
    archive(cereal::base_class<animal>(this), CEREAL_NVP(colony));
  }
};

template <class Pointer>
bool same_pointee(const Pointer& a, const Pointer& b) {
  return (!a && !b) || (a && b && *a == *b);
}
inline bool same_animal(const std::unique_ptr<animal>& a, const std::unique_ptr<animal>& b) {
  return (!a && !b) || (a && b && a->equals(*b));
}

struct values {
  bool flag = false;
  std::int8_t small = 0;
  std::uint16_t medium = 0;
  std::int64_t large = 0;
  std::uint64_t largest = 0;
  char letter = 0;
  char32_t wide_letter = 0;
  float single_precision = 0;
  double precise = 0;
  color shade = color::red;
  std::bitset<75> bits;
  std::chrono::milliseconds time{};
  std::chrono::system_clock::time_point date;
  std::complex<float> complex;
  price cost;
  particle point{};
  friend bool operator==(const values&, const values&) = default;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(flag, small, medium, CEREAL_NVP(large), largest, letter, wide_letter, single_precision, precise, shade,
            bits);
    archive(time, date, complex, CEREAL_NVP(cost), point);
  }
};

struct containers {
  std::string text;
  std::u16string wide_text;
  std::vector<double> numbers;
  std::vector<bool> flags;
  std::vector<std::byte> bytes;
  std::vector<particle> points;
  std::vector<std::vector<std::string>> texts;
  std::array<std::string, 2> two_texts;
  std::array<float, 3> three_numbers{};
  std::array<particle, 2> two_points{};
  int grid[2][3] = {};
  std::deque<std::string> queue;
  std::list<int> list;
  friend bool operator==(const containers&, const containers&) = default;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(CEREAL_NVP(text), wide_text, numbers, flags, bytes, points, texts);
    archive(two_texts, three_numbers, two_points, grid, queue, list);
  }
};

struct lookups {
  std::map<std::string, std::vector<int>> by_text;
  std::map<int, std::string> by_number;
  std::multimap<std::string, int> many;
  std::unordered_map<std::string, price> hashed;
  std::unordered_multimap<int, int> hashed_many;
  std::set<std::string> set;
  std::multiset<int> multiset;
  std::unordered_set<int> hashed_set;
  std::pair<int, std::string> pair;
  std::tuple<std::string, double, int> tuple;
  std::optional<std::string> optional;
  std::optional<std::optional<int>> twice_optional;
  std::variant<std::monostate, int, std::string, std::vector<float>> variant;
  friend bool operator==(const lookups&, const lookups&) = default;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(CEREAL_NVP(by_text), by_number, many, hashed, hashed_many, set, multiset, hashed_set);
    archive(pair, tuple, optional, twice_optional, variant);
  }
};

/// All of them, and others like it.
struct node {
  static constexpr bool weft_late_delivery = true;
  random_graph::values values;
  random_graph::containers containers;
  random_graph::lookups lookups;
  std::vector<node> children;
  std::unique_ptr<node> owned;
  std::shared_ptr<random_graph::containers> shared;
  std::shared_ptr<random_graph::containers> shared_again;  // may be the same
  std::unique_ptr<animal> pet;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(CEREAL_NVP(values), CEREAL_NVP(containers), lookups, children, owned, CEREAL_NVP(shared), shared_again,
            pet);
  }
  friend bool operator==(const node& a, const node& b) {
    return a.values == b.values && a.containers == b.containers && a.lookups == b.lookups && a.children == b.children &&
           same_pointee(a.owned, b.owned) && same_pointee(a.shared, b.shared) &&
           same_pointee(a.shared_again, b.shared_again) &&
           (a.shared == a.shared_again) == (b.shared == b.shared_again) && same_animal(a.pet, b.pet);
  }
};

}  // namespace random_graph

template <>
struct weft::serializers::codec<random_graph::price> {
  static void encode(byte_buffer& out, const random_graph::price& object) { out.append(object.cents); }
  static random_graph::price decode(reader& in) { return {in.read<std::int64_t>()}; }
};
