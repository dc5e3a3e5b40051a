// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/serializers/codec.hpp>
#include <weft/serializers/json_archive.hpp>
#include <weft/serializers/object_checks.hpp>
#include <weft/serializers/raw.hpp>
#include <weft/serializers/scalar.hpp>
#include <weft/serializers/std_type_names.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <limits>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

// How JSON archives write and read what everything else is made of. cereal finds these functions through the namespace
// of the archives, as those of the binary archives.
namespace weft::serializers {

/// Elements whose ranges are written as base64.
template <class T>
concept json_byte = std::same_as<T, std::byte> || std::same_as<T, unsigned char> || std::same_as<T, char>;

namespace detail {

/// Types that are no JSON object of their own: they have another form, or take no place.
template <class T>
inline constexpr bool has_json_form = has_codec<T>;
template <class T>
inline constexpr bool has_json_form<cereal::NameValuePair<T>> = true;
template <class T>
inline constexpr bool has_json_form<cereal::SizeTag<T>> = true;
template <class T>
inline constexpr bool has_json_form<cereal::BinaryData<T>> = true;
template <class T>
inline constexpr bool has_json_form<cereal::DeferredData<T>> = true;
template <class C, class Traits, class A>
inline constexpr bool has_json_form<std::basic_string<C, Traits, A>> = true;
template <class T, class A>
inline constexpr bool has_json_form<std::vector<T, A>> = true;
template <class T, class A>
inline constexpr bool has_json_form<std::deque<T, A>> = true;
template <class T, class A>
inline constexpr bool has_json_form<std::list<T, A>> = true;
template <class T, std::size_t N>
inline constexpr bool has_json_form<std::array<T, N>> = true;
template <class K, class C, class A>
inline constexpr bool has_json_form<std::set<K, C, A>> = true;
template <class K, class C, class A>
inline constexpr bool has_json_form<std::multiset<K, C, A>> = true;
template <class K, class H, class E, class A>
inline constexpr bool has_json_form<std::unordered_set<K, H, E, A>> = true;
template <class K, class H, class E, class A>
inline constexpr bool has_json_form<std::unordered_multiset<K, H, E, A>> = true;
template <class K, class V, class C, class A>
inline constexpr bool has_json_form<std::map<K, V, C, A>> = true;
template <class K, class V, class C, class A>
inline constexpr bool has_json_form<std::multimap<K, V, C, A>> = true;
template <class K, class V, class H, class E, class A>
inline constexpr bool has_json_form<std::unordered_map<K, V, H, E, A>> = true;
template <class K, class V, class H, class E, class A>
inline constexpr bool has_json_form<std::unordered_multimap<K, V, H, E, A>> = true;
template <class A, class B>
inline constexpr bool has_json_form<std::pair<A, B>> = true;
template <class... Ts>
inline constexpr bool has_json_form<std::tuple<Ts...>> = true;
template <class T>
inline constexpr bool has_json_form<std::optional<T>> = true;

/// A type without functions that name its members, of which JSON has the bytes.
template <class T>
concept raw_in_json = raw_object<T> && !cereal::traits::has_member_serialize<T, json_output_archive>::value &&
                      !cereal::traits::has_member_save<T, json_output_archive>::value &&
                      !cereal::traits::has_non_member_serialize<T, json_output_archive>::value;

template <class T>
inline constexpr bool is_minimal = cereal::traits::has_minimal_output_serialization<T, json_output_archive>::value;

/// Values that are an object with a key for each member.
template <class T>
concept json_object = std::is_class_v<T> && !has_json_form<T> && !raw_in_json<T> && !is_minimal<T>;

}  // namespace detail

template <class T>
requires detail::json_object<T>
void prologue(json_output_archive& archive, const T&) {
  archive.begin_class();
  // With every object: a receiver may pass over the first one of a class.
  if (const std::uint32_t version = detail::newest_version<T>(); version != 0) {
    archive.write_key(version_name);
    archive.write_unsigned(version);
  }
}
template <class T>
requires detail::json_object<T>
void epilogue(json_output_archive& archive, const T&) {
  archive.end_class();
}

template <class T>
requires std::is_class_v<T>
void prologue(json_input_archive& archive, const T& value) {
  if constexpr (counts_as_object<T>) archive.enter(known<T>);
  if constexpr (detail::json_object<T>) archive.begin_class(extent_of(value));
  begin_pointer(archive.pointers(), value);
}
template <class T>
requires std::is_class_v<T>
void epilogue(json_input_archive& archive, const T& value) {
  end_pointer(archive.pointers(), value);
  if constexpr (detail::json_object<T>) archive.end_class();
  if constexpr (counts_as_object<T>) archive.exit();
}

template <scalar T>
void save(json_output_archive& archive, const T& value) {
  if constexpr (std::same_as<T, bool>)
    archive.write_bool(value);
  else if constexpr (std::same_as<T, float>)
    archive.write_float(value);
  else if constexpr (std::same_as<T, double>)
    archive.write_double(value);
  else if constexpr (std::is_signed_v<T>)
    archive.write_signed(value);
  else
    archive.write_unsigned(value);
}
template <scalar T>
void load(json_input_archive& archive, T& value) {
  using bounds = std::numeric_limits<T>;
  if constexpr (std::same_as<T, bool>)
    value = archive.take_bool();
  else if constexpr (std::same_as<T, float>)
    value = archive.take_float();
  else if constexpr (std::same_as<T, double>)
    value = archive.take_double();
  else if constexpr (std::is_signed_v<T>)
    value = static_cast<T>(archive.take_signed(bounds::min(), bounds::max(), type_name_v<T>));
  else
    value = static_cast<T>(archive.take_unsigned(bounds::max(), type_name_v<T>));
}

template <class T>
void save(json_output_archive& archive, const cereal::NameValuePair<T>& pair) {
  if (pair.name == version_name) return;  // it is written where its object begins
  archive.write_key(pair.name);
  archive(pair.value);
}
/// Of a key that is not asked for by the archive's own operator: the version of a class.
template <class T>
void load(json_input_archive& archive, cereal::NameValuePair<T>& pair) {
  if constexpr (std::same_as<std::remove_cvref_t<T>, std::uint32_t>) {
    if (pair.name == version_name) return archive.load_version(pair.value);
  }
  archive.load_named(pair.name, pair.value);
}

template <class T>
void save(json_output_archive& archive, const cereal::SizeTag<T>&) {
  archive.make_array();
}
template <class T>
void load(json_input_archive& archive, cereal::SizeTag<T>& tag) {
  using size_type = std::remove_reference_t<T>;
  const std::uint32_t size = archive.size_of_class();
  if (size > std::numeric_limits<size_type>::max())
    archive.fail("an array of " + std::to_string(size) + " elements",
                 "at most " + std::to_string(std::numeric_limits<size_type>::max()));
  tag.size = static_cast<size_type>(size);
}

template <class T>
void save(json_output_archive& archive, const cereal::BinaryData<T>& data) {
  archive.write_bytes({static_cast<const std::byte*>(data.data), static_cast<std::size_t>(data.size)});
}
template <class T>
void load(json_input_archive& archive, cereal::BinaryData<T>& data) {
  using element = std::remove_cv_t<std::remove_all_extents_t<std::remove_pointer_t<std::remove_reference_t<T>>>>;
  static_assert(!std::same_as<element, bool>, "bytes of any value are no bool: serialize them one by one");
  archive.take_bytes({static_cast<std::byte*>(data.data), static_cast<std::size_t>(data.size)});
}

template <has_codec T>
void save(json_output_archive& archive, const T& object) {
  byte_buffer bytes;
  codec<T>::encode(bytes, object);
  archive.write_bytes(bytes.bytes());
}
template <has_codec T>
void load(json_input_archive& archive, T& object) {
  std::vector<std::byte> bytes(archive.count_bytes());
  archive.take_bytes(bytes);
  reader in(bytes);
  object = codec<T>::decode(in);
  in.expect_end();
}

template <class T>
requires detail::raw_in_json<T>
void save(json_output_archive& archive, const T& object) {
  archive.write_bytes(extent_of(object));
}
template <class T>
requires detail::raw_in_json<T>
void load(json_input_archive& archive, T& object) {
  archive.take_bytes(std::as_writable_bytes(std::span(&object, 1)));
}

}  // namespace weft::serializers
