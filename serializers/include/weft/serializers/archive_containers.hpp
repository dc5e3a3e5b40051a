// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/serializers/archive_values.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <list>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

// Containers whose loading must not trust the announced size: ranges of numbers are checked against the bytes that
// remain and copied whole, other elements are made one by one as their bytes are read. cereal's functions save them,
// except where a whole range can be copied or left where it lies, and where there are keys, which always travel in the
// archive.
namespace weft::serializers {

namespace detail {

/// Loads into the elements that are there, and adds the others.
template <class Sequence>
void load_sequence(binary_input_archive& archive, Sequence& sequence, std::uint64_t count) {
  if (sequence.size() > count) sequence.resize(static_cast<std::size_t>(count));
  const std::uint64_t missing = count - sequence.size();
  for (auto& element : sequence) archive.load_element(element);
  for (std::uint64_t i = 0; i != missing; ++i) archive.load_element(sequence.emplace_back());
}

/// The element is in the container, whose size says whether it is new.
template <class Container>
void check_new(binary_input_archive& archive, const Container& container, std::size_t size_before) {
  if (container.size() == size_before) archive.in().fail("a key that was there before", "each key once");
}

template <class Map>
void save_map(binary_output_archive& archive, const Map& map) {
  archive.out().append(static_cast<std::uint64_t>(map.size()));
  for (const auto& [key, value] : map) {
    archive.save_key(key);
    archive(value);
  }
}

/// With its comparison or hash, and allocator.
template <class Map>
[[nodiscard]] Map empty_like(const Map& map) {
  if constexpr (requires { map.key_comp(); })
    return Map(map.key_comp(), map.get_allocator());
  else
    return Map(0, map.hash_function(), map.key_eq(), map.get_allocator());
}

/// Loads into the values that are there for the same keys, whose memory is used again.
template <class Map>
void load_map(binary_input_archive& archive, Map& map) {
  Map old = empty_like(map);
  old.swap(map);
  for (std::uint64_t left = archive.read_count(); left != 0; --left) {
    typename Map::key_type key{};
    typename Map::mapped_type made{};
    typename Map::node_type kept;
    archive.load_entry(key, [&]() -> typename Map::mapped_type& {
      kept = old.extract(key);
      return kept ? kept.mapped() : made;
    });
    const std::size_t before = map.size();
    if (kept)
      map.insert(map.end(), std::move(kept));
    else
      map.emplace_hint(map.end(), std::move(key), std::move(made));
    check_new(archive, map, before);
  }
}

template <class Set>
void save_set(binary_output_archive& archive, const Set& set) {
  archive.out().append(static_cast<std::uint64_t>(set.size()));
  for (const auto& key : set) archive.save_key(key);
}

template <class Set>
void load_set(binary_input_archive& archive, Set& set) {
  set.clear();
  for (std::uint64_t left = archive.read_count(); left != 0; --left) {
    typename Set::key_type key{};
    archive.load_key(key);
    const std::size_t before = set.size();
    set.emplace_hint(set.end(), std::move(key));
    check_new(archive, set, before);
  }
}

template <class Range>
void save_range(binary_output_archive& archive, const Range& range) {
  if constexpr (raw_object<typename Range::value_type>) save_raw_size<typename Range::value_type>(archive);
  const std::uint64_t count = range.size();
  const std::size_t bytes = range.size() * sizeof(typename Range::value_type);
  if (archive.lend(&range, range.data(), bytes)) return archive.out().append(count | segment_bit);
  archive.out().append(count);
  archive.out().append(range.data(), bytes);
}

template <class Range>
void load_range_apart(binary_input_archive& archive, Range& range, std::uint64_t count) {
  using element = typename Range::value_type;
  archive.check_elements(count);
  if (count > range.max_size()) archive.in().fail_range(count, sizeof(element));
  const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(element);
  const std::byte* const arrived = archive.next_segment(bytes);
  range.resize(static_cast<std::size_t>(count));
  if (arrived != nullptr)
    std::memcpy(range.data(), arrived, bytes);
  else
    archive.land(range.data(), bytes, &range, sizeof range);
}

template <class Range>
void load_range(binary_input_archive& archive, Range& range) {
  using element = typename Range::value_type;
  if constexpr (raw_object<element>) load_raw_size<element>(archive);
  const auto announced = archive.in().read<std::uint64_t>();
  if ((announced & segment_bit) != 0) return load_range_apart(archive, range, announced & ~segment_bit);
  archive.check_elements(announced);
  const std::size_t count = archive.in().check_range_count(announced, sizeof(element));
  const auto bytes = archive.in().read_bytes(count * sizeof(element));
  if constexpr (std::same_as<Range, std::string>) {
    range.assign(reinterpret_cast<const char*>(bytes.data()), count);  // without filling it before
  } else {
    range.resize(count);
    if (count != 0) std::memcpy(range.data(), bytes.data(), bytes.size());
  }
}

}  // namespace detail

template <range_element T, class A>
void save(binary_output_archive& archive, const std::vector<T, A>& range) {
  detail::save_range(archive, range);
}
template <range_element T, class A>
void load(binary_input_archive& archive, std::vector<T, A>& range) {
  detail::load_range(archive, range);
}

template <class T, class Traits, class A>
void save(binary_output_archive& archive, const std::basic_string<T, Traits, A>& range) {
  detail::save_range(archive, range);
}
template <class T, class Traits, class A>
void load(binary_input_archive& archive, std::basic_string<T, Traits, A>& range) {
  detail::load_range(archive, range);
}

/// cereal copies arrays of numbers whole, but not those of bytes.
template <std::size_t N>
void save(binary_output_archive& archive, const std::array<std::byte, N>& array) {
  archive(cereal::binary_data(array.data(), N));
}
template <std::size_t N>
void load(binary_input_archive& archive, std::array<std::byte, N>& array) {
  archive(cereal::binary_data(array.data(), N));
}

template <raw_object T, std::size_t N>
void save(binary_output_archive& archive, const std::array<T, N>& array) {
  detail::save_raw_size<T>(archive);
  archive(cereal::binary_data(array.data(), sizeof array));
}
template <raw_object T, std::size_t N>
void load(binary_input_archive& archive, std::array<T, N>& array) {
  detail::load_raw_size<T>(archive);
  archive(cereal::binary_data(array.data(), sizeof array));
}

/// Reserves no more memory than the frame has bytes left; vectors of numbers and of `bool` are loaded otherwise.
template <class T, class A>
requires(!range_element<T> && !std::same_as<T, bool>) void load(binary_input_archive& archive,
                                                                std::vector<T, A>& vector) {
  const std::uint64_t count = archive.read_count();
  vector.reserve(static_cast<std::size_t>(std::min<std::uint64_t>(count, archive.in().remaining() / sizeof(T))));
  detail::load_sequence(archive, vector, count);
}

template <class T, class A>
void load(binary_input_archive& archive, std::deque<T, A>& deque) {
  detail::load_sequence(archive, deque, archive.read_count());
}
template <class T, class A>
void load(binary_input_archive& archive, std::list<T, A>& list) {
  detail::load_sequence(archive, list, archive.read_count());
}

template <class K, class V, class C, class A>
void save(binary_output_archive& archive, const std::map<K, V, C, A>& map) {
  detail::save_map(archive, map);
}
template <class K, class V, class C, class A>
void load(binary_input_archive& archive, std::map<K, V, C, A>& map) {
  detail::load_map(archive, map);
}
template <class K, class V, class C, class A>
void save(binary_output_archive& archive, const std::multimap<K, V, C, A>& map) {
  detail::save_map(archive, map);
}
template <class K, class V, class C, class A>
void load(binary_input_archive& archive, std::multimap<K, V, C, A>& map) {
  detail::load_map(archive, map);
}
template <class K, class V, class H, class E, class A>
void save(binary_output_archive& archive, const std::unordered_map<K, V, H, E, A>& map) {
  detail::save_map(archive, map);
}
template <class K, class V, class H, class E, class A>
void load(binary_input_archive& archive, std::unordered_map<K, V, H, E, A>& map) {
  detail::load_map(archive, map);
}
template <class K, class V, class H, class E, class A>
void save(binary_output_archive& archive, const std::unordered_multimap<K, V, H, E, A>& map) {
  detail::save_map(archive, map);
}
template <class K, class V, class H, class E, class A>
void load(binary_input_archive& archive, std::unordered_multimap<K, V, H, E, A>& map) {
  detail::load_map(archive, map);
}

template <class K, class C, class A>
void save(binary_output_archive& archive, const std::set<K, C, A>& set) {
  detail::save_set(archive, set);
}
template <class K, class C, class A>
void load(binary_input_archive& archive, std::set<K, C, A>& set) {
  detail::load_set(archive, set);
}
template <class K, class C, class A>
void save(binary_output_archive& archive, const std::multiset<K, C, A>& set) {
  detail::save_set(archive, set);
}
template <class K, class C, class A>
void load(binary_input_archive& archive, std::multiset<K, C, A>& set) {
  detail::load_set(archive, set);
}
template <class K, class H, class E, class A>
void save(binary_output_archive& archive, const std::unordered_set<K, H, E, A>& set) {
  detail::save_set(archive, set);
}
template <class K, class H, class E, class A>
void load(binary_input_archive& archive, std::unordered_set<K, H, E, A>& set) {
  detail::load_set(archive, set);
}
template <class K, class H, class E, class A>
void save(binary_output_archive& archive, const std::unordered_multiset<K, H, E, A>& set) {
  detail::save_set(archive, set);
}
template <class K, class H, class E, class A>
void load(binary_input_archive& archive, std::unordered_multiset<K, H, E, A>& set) {
  detail::load_set(archive, set);
}

}  // namespace weft::serializers
