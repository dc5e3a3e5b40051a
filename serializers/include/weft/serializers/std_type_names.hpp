// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/serializers/type_name.hpp>

#include <array>
#include <bitset>
#include <chrono>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <ratio>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

// Names of the standard library: no namespaces, and no allocators, comparators, hashes and deleters, which leave no
// trace on the wire.
namespace weft::serializers {

namespace detail {

constexpr std::size_t count_digits(std::uintmax_t number) {
  return number < 10 ? 1 : 1 + count_digits(number / 10);
}

template <std::uintmax_t Number>
constexpr auto write_decimal() {
  std::array<char, count_digits(Number)> text{};
  auto rest = Number;
  for (auto digit = text.rbegin(); digit != text.rend(); ++digit, rest /= 10) {
    *digit = static_cast<char>('0' + rest % 10);
  }
  return text;
}

/// Stands for a number among the types that tell the instances of a template apart.
template <std::uintmax_t Number>
struct number {};

}  // namespace detail

template <std::uintmax_t Number>
struct type_name<detail::number<Number>> {
  static constexpr auto text = detail::write_decimal<Number>();
  static constexpr std::string_view value{text.data(), text.size()};
};

template <>
struct type_name<std::byte> : detail::literal_name<"byte"> {};
template <>
struct type_name<std::string> : detail::literal_name<"string"> {};
template <class T, class Traits, class A>
struct type_name<std::basic_string<T, Traits, A>> : composed_name<"string", T> {};

template <class T, std::size_t N>
struct type_name<std::array<T, N>> : composed_name<"array", T, detail::number<N>> {};
template <class T, std::size_t N>
struct type_name<T[N]> : composed_name<"array", T, detail::number<N>> {};
template <class T, class A>
struct type_name<std::vector<T, A>> : composed_name<"vector", T> {};
template <class T, class A>
struct type_name<std::deque<T, A>> : composed_name<"deque", T> {};
template <class T, class A>
struct type_name<std::list<T, A>> : composed_name<"list", T> {};

template <class K, class C, class A>
struct type_name<std::set<K, C, A>> : composed_name<"set", K> {};
template <class K, class C, class A>
struct type_name<std::multiset<K, C, A>> : composed_name<"multiset", K> {};
template <class K, class H, class E, class A>
struct type_name<std::unordered_set<K, H, E, A>> : composed_name<"unordered_set", K> {};
template <class K, class H, class E, class A>
struct type_name<std::unordered_multiset<K, H, E, A>> : composed_name<"unordered_multiset", K> {};

template <class K, class V, class C, class A>
struct type_name<std::map<K, V, C, A>> : composed_name<"map", K, V> {};
template <class K, class V, class C, class A>
struct type_name<std::multimap<K, V, C, A>> : composed_name<"multimap", K, V> {};
template <class K, class V, class H, class E, class A>
struct type_name<std::unordered_map<K, V, H, E, A>> : composed_name<"unordered_map", K, V> {};
template <class K, class V, class H, class E, class A>
struct type_name<std::unordered_multimap<K, V, H, E, A>> : composed_name<"unordered_multimap", K, V> {};

template <class A, class B>
struct type_name<std::pair<A, B>> : composed_name<"pair", A, B> {};
template <class... Ts>
struct type_name<std::tuple<Ts...>> : composed_name<"tuple", Ts...> {};
template <class T>
struct type_name<std::optional<T>> : composed_name<"optional", T> {};
template <class... Ts>
struct type_name<std::variant<Ts...>> : composed_name<"variant", Ts...> {};
template <>
struct type_name<std::monostate> : detail::literal_name<"monostate"> {};

template <class T, class Deleter>
struct type_name<std::unique_ptr<T, Deleter>> : composed_name<"unique_ptr", T> {};
template <class T>
struct type_name<std::shared_ptr<T>> : composed_name<"shared_ptr", T> {};
template <class T>
struct type_name<std::weak_ptr<T>> : composed_name<"weak_ptr", T> {};

template <std::size_t N>
struct type_name<std::bitset<N>> : composed_name<"bitset", detail::number<N>> {};
template <class T>
struct type_name<std::complex<T>> : composed_name<"complex", T> {};

template <std::intmax_t N, std::intmax_t D>
struct type_name<std::ratio<N, D>> : composed_name<"ratio", detail::number<N>, detail::number<D>> {};
template <class Rep, class Period>
struct type_name<std::chrono::duration<Rep, Period>> : composed_name<"duration", Rep, Period> {};
template <class Clock, class Duration>
struct type_name<std::chrono::time_point<Clock, Duration>> : composed_name<"time_point", Clock, Duration> {};
template <>
struct type_name<std::chrono::system_clock> : detail::literal_name<"system_clock"> {};
template <>
struct type_name<std::chrono::steady_clock> : detail::literal_name<"steady_clock"> {};

}  // namespace weft::serializers
