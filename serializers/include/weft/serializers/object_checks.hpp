// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/serializers/pointer_guard.hpp>

#include <cereal/cereal.hpp>
#include <cereal/types/memory.hpp>

#include <memory>
#include <type_traits>
#include <typeinfo>

// What is checked of objects while an archive of any kind loads them.
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

/// Tell a guard which pointer is being loaded, where a value is one.
/// @{
template <class T>
void begin_pointer(pointer_guard&, const T&) {}
template <class T>
void end_pointer(pointer_guard&, const T&) {}

template <class T>
void begin_pointer(pointer_guard& guard, const cereal::memory_detail::PtrWrapper<std::shared_ptr<T>&>&) {
  guard.begin_shared(typeid(T));
}
template <class T>
void end_pointer(pointer_guard& guard, const cereal::memory_detail::PtrWrapper<std::shared_ptr<T>&>&) {
  guard.end_shared();
}

template <class T>
void begin_pointer(pointer_guard& guard, const std::weak_ptr<T>&) {
  guard.set_weak(true);
}
template <class T>
void end_pointer(pointer_guard& guard, const std::weak_ptr<T>&) {
  guard.set_weak(false);
}

template <class T, class Deleter>
requires std::is_polymorphic_v<T>
void begin_pointer(pointer_guard& guard, const std::unique_ptr<T, Deleter>&) {
  guard.set_base(&typeid(T));
}
template <class T, class Deleter>
requires std::is_polymorphic_v<T>
void end_pointer(pointer_guard& guard, const std::unique_ptr<T, Deleter>&) {
  guard.set_base(nullptr);
}
template <class T, class Deleter>
requires std::is_polymorphic_v<T>
void begin_pointer(pointer_guard& guard, const cereal::memory_detail::PtrWrapper<std::unique_ptr<T, Deleter>&>&) {
  guard.begin_unique(typeid(T));
}
/// @}

}  // namespace weft::serializers
