// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/serializers/detail/compiler_type_name.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>

namespace weft::serializers {

/// The name of a type, by which two programs agree that they mean the same one: `type_name<T>::value`. Numbers are
/// named by kind and width ("i64"), templates after their arguments ("map<string,i64>"), other types as the compiler
/// spells them, namespace included. Give a type a name that outlives a renaming or a change of compiler by a member
/// `static constexpr std::string_view weft_type_name` (which derived classes inherit), or by a specialization:
///
///     template <> struct weft::serializers::type_name<order> { static constexpr std::string_view value = "order"; };
///     template <class T> struct weft::serializers::type_name<grid<T>> : composed_name<"grid", T> {};
template <class T>
struct type_name;

/// The name of a type, whether const or a reference or not.
template <class T>
inline constexpr std::string_view type_name_v = type_name<std::remove_cvref_t<T>>::value;

/// A string literal as a template argument.
template <std::size_t Size>
struct literal {
  char text[Size]{};  ///< with the zero at its end

  /// Implicit: `composed_name<"grid", T>`.
  consteval literal(const char (&source)[Size]) { std::copy_n(source, Size, text); }
  /// Without the zero at its end.
  [[nodiscard]] constexpr std::string_view view() const { return {text, Size - 1}; }
};

namespace detail {

template <class T>
concept names_itself = requires {
  { T::weft_type_name } -> std::convertible_to<std::string_view>;
};

template <class... Ts>
constexpr auto join_names() {
  constexpr std::size_t commas = sizeof...(Ts) == 0 ? 0 : sizeof...(Ts) - 1;
  std::array<char, (type_name_v<Ts>.size() + ... + commas)> text{};
  auto end = text.begin();
  [[maybe_unused]] const auto append = [&](std::string_view name) {
    if (end != text.begin()) *end++ = ',';
    end = std::copy(name.begin(), name.end(), end);
  };
  (append(type_name_v<Ts>), ...);
  return text;
}

/// The names of types, joined by commas.
template <class... Ts>
struct joined_names {
  static constexpr auto text = join_names<Ts...>();
  static constexpr std::string_view value{text.data(), text.size()};
};

template <class Name, class... Arguments>
constexpr auto compose_name() {
  constexpr std::string_view arguments = joined_names<Arguments...>::value;
  std::array<char, Name::value.size() + arguments.size() + 2> text{};
  auto end = std::copy(Name::value.begin(), Name::value.end(), text.begin());
  *end++ = '<';
  end = std::copy(arguments.begin(), arguments.end(), end);
  *end = '>';
  return text;
}

/// "name<arguments>"; `Name` has the name as its `value`.
template <class Name, class... Arguments>
struct template_name {
  static constexpr auto text = compose_name<Name, Arguments...>();
  static constexpr std::string_view value{text.data(), text.size()};
};

template <literal Text>
struct literal_name {
  static constexpr std::string_view value = Text.view();
};

template <std::integral T>
consteval std::string_view integer_name() {
  constexpr std::string_view names[] = {"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"};
  return names[std::countr_zero(sizeof(T)) + (std::unsigned_integral<T> ? 4 : 0)];
}

template <class T>
consteval std::string_view plain_name() {
  if constexpr (names_itself<T>) {
    return T::weft_type_name;
  } else if constexpr (std::integral<T>) {
    return integer_name<T>();
  } else {
    return compiler_type_name<T>::value;
  }
}

}  // namespace detail

/// The base of a `type_name` for a template: its name, and the types that tell its instances apart.
template <literal Name, class... Arguments>
struct composed_name : detail::template_name<detail::literal_name<Name>, Arguments...> {};

template <class T>
struct type_name {
  static constexpr std::string_view value = detail::plain_name<T>();  ///< the name
};

// Composed from the names of the arguments, so that compilers which spell the arguments differently agree.
template <template <class...> class Template, class... Arguments>
requires(!detail::names_itself<Template<Arguments...>>) struct type_name<Template<Arguments...>>
    : detail::template_name<detail::compiler_template_name<Template<Arguments...>>, Arguments...> {
};

template <>
struct type_name<bool> : detail::literal_name<"bool"> {};
template <>
struct type_name<char> : detail::literal_name<"char"> {};
template <>
struct type_name<char8_t> : detail::literal_name<"char8"> {};
template <>
struct type_name<char16_t> : detail::literal_name<"char16"> {};
template <>
struct type_name<char32_t> : detail::literal_name<"char32"> {};
template <>
struct type_name<float> : detail::literal_name<"f32"> {};
template <>
struct type_name<double> : detail::literal_name<"f64"> {};

}  // namespace weft::serializers
