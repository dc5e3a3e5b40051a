// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/serializers/binary_archive.hpp>
#include <weft/serializers/late_delivery.hpp>

#include <cereal/types/base_class.hpp>

#include <memory>
#include <type_traits>
#include <typeinfo>

// cereal calls `prologue` before and `epilogue` after it loads a value: the place to count the depth and to tell
// `pointer_guard` which pointer is being loaded. When loading throws, no epilogue follows, and the archive is of no
// further use.
namespace weft::serializers {

/// Whether values of a type count towards `limits::max_depth`: classes, but neither cereal's wrappers nor pointers.
template <class T>
inline constexpr bool counts_as_object = std::is_class_v<T>;
template <class T>
inline constexpr bool counts_as_object<cereal::NameValuePair<T>> = false;
template <class T>
inline constexpr bool counts_as_object<cereal::SizeTag<T>> = false;
template <class T>
inline constexpr bool counts_as_object<cereal::BinaryData<T>> = false;
template <class Key, class Value>
inline constexpr bool counts_as_object<cereal::MapItem<Key, Value>> = false;
template <class T>
inline constexpr bool counts_as_object<cereal::memory_detail::PtrWrapper<T>> = false;
template <class T, class Deleter>
inline constexpr bool counts_as_object<std::unique_ptr<T, Deleter>> = false;
template <class T>
inline constexpr bool counts_as_object<std::shared_ptr<T>> = false;
template <class T>
inline constexpr bool counts_as_object<std::weak_ptr<T>> = false;

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
requires counts_as_object<T>
void prologue(binary_input_archive& archive, const T&) {
  archive.begin_object();
}
template <class T>
requires counts_as_object<T>
void epilogue(binary_input_archive& archive, const T&) {
  archive.end_object();
}

template <class T>
void prologue(binary_input_archive& archive, const cereal::memory_detail::PtrWrapper<std::shared_ptr<T>&>&) {
  archive.pointers().begin_shared(typeid(T));
}
template <class T>
void epilogue(binary_input_archive& archive, const cereal::memory_detail::PtrWrapper<std::shared_ptr<T>&>&) {
  archive.pointers().end_shared();
}

template <class T>
void prologue(binary_input_archive& archive, const std::weak_ptr<T>&) {
  archive.pointers().set_weak(true);
}
template <class T>
void epilogue(binary_input_archive& archive, const std::weak_ptr<T>&) {
  archive.pointers().set_weak(false);
}

template <class T, class Deleter>
requires std::is_polymorphic_v<T>
void prologue(binary_input_archive& archive, const std::unique_ptr<T, Deleter>&) {
  archive.pointers().set_base(&typeid(T));
}
template <class T, class Deleter>
requires std::is_polymorphic_v<T>
void epilogue(binary_input_archive& archive, const std::unique_ptr<T, Deleter>&) {
  archive.pointers().set_base(nullptr);
}
template <class T, class Deleter>
requires std::is_polymorphic_v<T>
void prologue(binary_input_archive& archive, const cereal::memory_detail::PtrWrapper<std::unique_ptr<T, Deleter>&>&) {
  archive.pointers().begin_unique(typeid(T));
}

}  // namespace weft::serializers
