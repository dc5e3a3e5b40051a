// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/serializers/binary_archive.hpp>
#include <weft/serializers/class_version.hpp>
#include <weft/serializers/object_checks.hpp>

#include <cereal/types/base_class.hpp>

#include <deque>
#include <list>
#include <map>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <vector>

// cereal calls `prologue` before and `epilogue` after it loads a value: the place to count the depth and to tell
// `pointer_guard` which pointer is being loaded. When loading throws, no epilogue follows, and the archive is of no
// further use.
namespace weft::serializers {

namespace detail {
/// Whether a type is a part of another that cereal wraps, and no object of its own.
template <class T>
inline constexpr bool is_base_wrapper = false;
template <class Base>
inline constexpr bool is_base_wrapper<cereal::base_class<Base>> = true;
template <class Base>
inline constexpr bool is_base_wrapper<cereal::virtual_base_class<Base>> = true;

/// Ranges that are copied whole, or lent as they are: they hold no objects.
template <class T>
inline constexpr bool is_plain_range = false;
template <range_element T, class A>
inline constexpr bool is_plain_range<std::vector<T, A>> = true;
template <class T, class Traits, class A>
inline constexpr bool is_plain_range<std::basic_string<T, Traits, A>> = true;

/// Containers whose elements lie elsewhere, and last as long.
template <class T>
inline constexpr bool is_std_container = false;
template <class T, class A>
inline constexpr bool is_std_container<std::vector<T, A>> = true;
template <class T, class A>
inline constexpr bool is_std_container<std::deque<T, A>> = true;
template <class T, class A>
inline constexpr bool is_std_container<std::list<T, A>> = true;
template <class K, class V, class C, class A>
inline constexpr bool is_std_container<std::map<K, V, C, A>> = true;
template <class K, class V, class C, class A>
inline constexpr bool is_std_container<std::multimap<K, V, C, A>> = true;
template <class K, class V, class H, class E, class A>
inline constexpr bool is_std_container<std::unordered_map<K, V, H, E, A>> = true;
template <class K, class V, class H, class E, class A>
inline constexpr bool is_std_container<std::unordered_multimap<K, V, H, E, A>> = true;

template <class T>
inline constexpr bool is_lender = counts_as_object<T> && !is_base_wrapper<T> && !is_plain_range<T>;

}  // namespace detail

// Saving: who lives as long as the objects that were given.
template <class T>
requires detail::is_lender<T>
void prologue(binary_output_archive& archive, const T& object) {
  using enum lenders::lending;
  archive.path().enter(&object, sizeof object, detail::is_std_container<T> ? others : members);
}
template <class T>
requires detail::is_lender<T>
void epilogue(binary_output_archive& archive, const T&) {
  archive.path().leave();
}
template <class T>
void prologue(binary_output_archive& archive, const cereal::memory_detail::PtrWrapper<T>&) {
  archive.path().enter_owned();
}
template <class T>
void epilogue(binary_output_archive& archive, const cereal::memory_detail::PtrWrapper<T>&) {
  archive.path().leave();
}

template <class T>
requires std::is_class_v<T>
void prologue(binary_input_archive& archive, const T& value) {
  if constexpr (counts_as_object<T>) archive.begin_object(known<T>);
  begin_pointer(archive.pointers(), value);
}
template <class T>
requires std::is_class_v<T>
void epilogue(binary_input_archive& archive, const T& value) {
  end_pointer(archive.pointers(), value);
  if constexpr (counts_as_object<T>) archive.end_object();
}

}  // namespace weft::serializers
