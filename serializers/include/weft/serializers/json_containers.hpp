// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/serializers/json_values.hpp>

#include <string_view>

// Containers in JSON: sequences and sets are arrays, maps with strings for keys are objects, other maps arrays of
// [key, value]. Elements are made one by one as they are read.
namespace weft::serializers {

namespace detail {

/// What may be null in JSON, so that an optional around it has to be told apart.
template <class T>
inline constexpr bool may_be_null = false;
template <class T>
inline constexpr bool may_be_null<std::optional<T>> = true;

template <class K>
inline constexpr bool is_json_key = false;
template <class Traits, class A>
inline constexpr bool is_json_key<std::basic_string<char, Traits, A>> = true;

template <class Range>
void save_elements(json_output_archive& archive, const Range& range) {
  archive.begin_array();
  for (const auto& element : range) archive(element);
  archive.end_array();
}

template <class Sequence>
void load_elements(json_input_archive& archive, Sequence& sequence) {
  const std::uint32_t count = archive.begin_array();
  if (sequence.size() > count) sequence.resize(count);
  for (auto& element : sequence) archive(element);
  while (sequence.size() != count) archive(sequence.emplace_back());
  archive.end_array();
}

inline void check_new(json_input_archive& archive, std::size_t before, std::size_t after) {
  if (before == after) archive.fail("a key that was there before", "each key once");
}

template <class Set>
void load_keys(json_input_archive& archive, Set& set) {
  set.clear();
  for (std::uint32_t left = archive.begin_array(); left != 0; --left) {
    typename Set::key_type key{};
    archive(key);
    const std::size_t before = set.size();
    set.emplace_hint(set.end(), std::move(key));
    check_new(archive, before, set.size());
  }
  archive.end_array();
}

template <class Map>
void save_pairs(json_output_archive& archive, const Map& map) {
  archive.begin_array();
  for (const auto& [key, value] : map) {
    archive.begin_array();
    archive(key, value);
    archive.end_array();
  }
  archive.end_array();
}

template <class Map>
void load_pairs(json_input_archive& archive, Map& map) {
  map.clear();
  for (std::uint32_t left = archive.begin_array(); left != 0; --left) {
    typename Map::key_type key{};
    typename Map::mapped_type value{};
    archive.begin_array(2);
    archive(key, value);
    archive.end_array();
    const std::size_t before = map.size();
    map.emplace_hint(map.end(), std::move(key), std::move(value));
    check_new(archive, before, map.size());
  }
  archive.end_array();
}

template <class Map>
void save_map(json_output_archive& archive, const Map& map) {
  if constexpr (is_json_key<typename Map::key_type>) {
    archive.begin_object();
    for (const auto& [key, value] : map) {
      archive.write_key(key);
      archive(value);
    }
    archive.end_object();
  } else {
    save_pairs(archive, map);
  }
}

template <class Map>
void load_map(json_input_archive& archive, Map& map) {
  if constexpr (is_json_key<typename Map::key_type>) {
    map.clear();
    for (std::uint32_t left = archive.begin_object(); left != 0; --left) {
      typename Map::key_type key(archive.next_key());
      archive.check_elements(key.size());
      typename Map::mapped_type value{};
      archive(value);
      const std::size_t before = map.size();
      map.emplace_hint(map.end(), std::move(key), std::move(value));
      check_new(archive, before, map.size());
    }
    archive.end_object();
  } else {
    load_pairs(archive, map);
  }
}

template <class Range>
void save_bytes(json_output_archive& archive, const Range& range) {
  archive.write_bytes(std::as_bytes(std::span(range)));
}
template <class Range>
void load_bytes(json_input_archive& archive, Range& range) {
  const std::size_t count = archive.count_bytes();
  archive.check_elements(count);
  range.resize(count);
  archive.take_bytes(std::as_writable_bytes(std::span(range)));
}

}  // namespace detail

template <class C, class Traits, class A>
void save(json_output_archive& archive, const std::basic_string<C, Traits, A>& text) {
  if constexpr (sizeof(C) == 1)
    archive.write_string({reinterpret_cast<const char*>(text.data()), text.size()});
  else
    detail::save_elements(archive, text);
}
template <class C, class Traits, class A>
void load(json_input_archive& archive, std::basic_string<C, Traits, A>& text) {
  if constexpr (sizeof(C) == 1) {
    const std::string_view read = archive.take_string();
    archive.check_elements(read.size());
    text.assign(read.begin(), read.end());
  } else {
    text.clear();
    for (std::uint32_t left = archive.begin_array(); left != 0; --left) {
      C one{};
      archive(one);
      text.push_back(one);
    }
    archive.end_array();
  }
}

template <class T, class A>
void save(json_output_archive& archive, const std::vector<T, A>& vector) {
  if constexpr (json_byte<T>)
    detail::save_bytes(archive, vector);
  else
    detail::save_elements(archive, vector);
}
template <class T, class A>
void load(json_input_archive& archive, std::vector<T, A>& vector) {
  if constexpr (json_byte<T>)
    detail::load_bytes(archive, vector);
  else
    detail::load_elements(archive, vector);
}
template <class A>
void save(json_output_archive& archive, const std::vector<bool, A>& vector) {
  archive.begin_array();
  for (const bool element : vector) archive(element);
  archive.end_array();
}
template <class A>
void load(json_input_archive& archive, std::vector<bool, A>& vector) {
  vector.clear();
  for (std::uint32_t left = archive.begin_array(); left != 0; --left) {
    bool element = false;
    archive(element);
    vector.push_back(element);
  }
  archive.end_array();
}

template <class T, std::size_t N>
void save(json_output_archive& archive, const std::array<T, N>& array) {
  if constexpr (json_byte<T>)
    detail::save_bytes(archive, array);
  else
    detail::save_elements(archive, array);
}
template <class T, std::size_t N>
void load(json_input_archive& archive, std::array<T, N>& array) {
  if constexpr (json_byte<T>) {
    archive.take_bytes(std::as_writable_bytes(std::span(array)));
  } else {
    archive.begin_array(static_cast<std::uint32_t>(N));
    for (T& element : array) archive(element);
    archive.end_array();
  }
}

/// Of any type: cereal's own function for arrays writes bytes.
template <class T, std::size_t N>
void serialize(json_output_archive& archive, T (&array)[N]) {
  archive.begin_array();
  for (T& element : array) archive(element);
  archive.end_array();
}
template <class T, std::size_t N>
void serialize(json_input_archive& archive, T (&array)[N]) {
  archive.begin_array(static_cast<std::uint32_t>(N));
  for (T& element : array) archive(element);
  archive.end_array();
}

template <class T, class A>
void save(json_output_archive& archive, const std::deque<T, A>& deque) {
  detail::save_elements(archive, deque);
}
template <class T, class A>
void load(json_input_archive& archive, std::deque<T, A>& deque) {
  detail::load_elements(archive, deque);
}
template <class T, class A>
void save(json_output_archive& archive, const std::list<T, A>& list) {
  detail::save_elements(archive, list);
}
template <class T, class A>
void load(json_input_archive& archive, std::list<T, A>& list) {
  detail::load_elements(archive, list);
}

template <class K, class C, class A>
void save(json_output_archive& archive, const std::set<K, C, A>& set) {
  detail::save_elements(archive, set);
}
template <class K, class C, class A>
void load(json_input_archive& archive, std::set<K, C, A>& set) {
  detail::load_keys(archive, set);
}
template <class K, class C, class A>
void save(json_output_archive& archive, const std::multiset<K, C, A>& set) {
  detail::save_elements(archive, set);
}
template <class K, class C, class A>
void load(json_input_archive& archive, std::multiset<K, C, A>& set) {
  detail::load_keys(archive, set);
}
template <class K, class H, class E, class A>
void save(json_output_archive& archive, const std::unordered_set<K, H, E, A>& set) {
  detail::save_elements(archive, set);
}
template <class K, class H, class E, class A>
void load(json_input_archive& archive, std::unordered_set<K, H, E, A>& set) {
  detail::load_keys(archive, set);
}
template <class K, class H, class E, class A>
void save(json_output_archive& archive, const std::unordered_multiset<K, H, E, A>& set) {
  detail::save_elements(archive, set);
}
template <class K, class H, class E, class A>
void load(json_input_archive& archive, std::unordered_multiset<K, H, E, A>& set) {
  detail::load_keys(archive, set);
}

template <class K, class V, class C, class A>
void save(json_output_archive& archive, const std::map<K, V, C, A>& map) {
  detail::save_map(archive, map);
}
template <class K, class V, class C, class A>
void load(json_input_archive& archive, std::map<K, V, C, A>& map) {
  detail::load_map(archive, map);
}
template <class K, class V, class C, class A>
void save(json_output_archive& archive, const std::multimap<K, V, C, A>& map) {
  detail::save_pairs(archive, map);
}
template <class K, class V, class C, class A>
void load(json_input_archive& archive, std::multimap<K, V, C, A>& map) {
  detail::load_pairs(archive, map);
}
template <class K, class V, class H, class E, class A>
void save(json_output_archive& archive, const std::unordered_map<K, V, H, E, A>& map) {
  detail::save_map(archive, map);
}
template <class K, class V, class H, class E, class A>
void load(json_input_archive& archive, std::unordered_map<K, V, H, E, A>& map) {
  detail::load_map(archive, map);
}
template <class K, class V, class H, class E, class A>
void save(json_output_archive& archive, const std::unordered_multimap<K, V, H, E, A>& map) {
  detail::save_pairs(archive, map);
}
template <class K, class V, class H, class E, class A>
void load(json_input_archive& archive, std::unordered_multimap<K, V, H, E, A>& map) {
  detail::load_pairs(archive, map);
}

// cereal has one function for both directions, and finds one here, too.
template <class A, class B>
void serialize(json_output_archive& archive, std::pair<A, B>& pair) {
  archive.begin_array();
  archive(pair.first, pair.second);
  archive.end_array();
}
template <class A, class B>
void serialize(json_input_archive& archive, std::pair<A, B>& pair) {
  archive.begin_array(2);
  archive(pair.first, pair.second);
  archive.end_array();
}
template <class... Ts>
void serialize(json_output_archive& archive, std::tuple<Ts...>& tuple) {
  archive.begin_array();
  std::apply([&](Ts&... element) { ((void)archive(element), ...); }, tuple);
  archive.end_array();
}
template <class... Ts>
void serialize(json_input_archive& archive, std::tuple<Ts...>& tuple) {
  archive.begin_array(static_cast<std::uint32_t>(sizeof...(Ts)));
  std::apply([&](Ts&... element) { ((void)archive(element), ...); }, tuple);
  archive.end_array();
}

/// Null, or the value; where that may be null itself, an array of none or one.
template <class T>
void save(json_output_archive& archive, const std::optional<T>& optional) {
  if constexpr (detail::may_be_null<T>) {
    archive.begin_array();
    if (optional) archive(*optional);
    archive.end_array();
  } else {
    optional ? (void)archive(*optional) : archive.write_null();
  }
}
template <class T>
void load(json_input_archive& archive, std::optional<T>& optional) {
  if constexpr (detail::may_be_null<T>) {
    const std::uint32_t count = archive.begin_array();
    optional.reset();
    if (count != 0) archive(optional.emplace());
    archive.end_array();
  } else if (archive.take_null()) {
    optional.reset();
  } else {
    archive(optional.emplace());
  }
}

}  // namespace weft::serializers
