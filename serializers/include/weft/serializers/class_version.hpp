// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/serializers/reader.hpp>

#include <cereal/cereal.hpp>
#include <cereal/types/base_class.hpp>
#include <cereal/types/memory.hpp>

#include <concepts>
#include <cstdint>
#include <string_view>
#include <typeinfo>

namespace weft::serializers {

namespace detail {
template <class T>
concept says_whether_it_accepts_newer = requires {
  { T::weft_accepts_newer } -> std::convertible_to<bool>;
};

template <class T>
consteval bool accepts_newer_by_itself() {
  if constexpr (says_whether_it_accepts_newer<T>)
    return T::weft_accepts_newer;
  else
    return false;
}
}  // namespace detail

/// Whether the functions of a type know what to do with a version (CEREAL_CLASS_VERSION) above their own. Where they do
/// not, such a version is a `decode_error`. A type says so with a member `static constexpr bool weft_accepts_newer =
/// true`, or a specialization of this.
template <class T>
inline constexpr bool accepts_newer = detail::accepts_newer_by_itself<T>();

/// What is known here of a class whose version may come next in a frame.
struct known_class {
  std::uint32_t (*newest)();   ///< the version that would be sent
  bool accepts_newer;          ///< see `weft::serializers::accepts_newer`
  const std::type_info* type;  ///< which class
};

namespace detail {

/// The class that cereal's wrappers stand for.
template <class T>
struct versioned {
  using type = T;
};
template <class Base>
struct versioned<cereal::base_class<Base>> : versioned<Base> {};
template <class Base>
struct versioned<cereal::virtual_base_class<Base>> : versioned<Base> {};
template <class Archive, class T>
struct versioned<cereal::memory_detail::LoadAndConstructLoadWrapper<Archive, T>> : versioned<T> {};

template <class T>
[[nodiscard]] std::uint32_t newest_version() {
  return cereal::detail::Version<typename versioned<T>::type>::version;
}

}  // namespace detail

/// What is known of `T`, or of the class that it wraps.
template <class T>
inline constexpr known_class known{detail::newest_version<T>, accepts_newer<typename detail::versioned<T>::type>,
                                   &typeid(typename detail::versioned<T>::type)};

/// What cereal calls the version of a class.
inline constexpr std::string_view version_name = "cereal_class_version";

/// Throws a `decode_error` for the place of `in` where a version is above all that are known.
void check_version(const known_class& one, std::uint32_t version, const reader& in);

}  // namespace weft::serializers
