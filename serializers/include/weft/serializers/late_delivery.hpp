// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/serializers/codec.hpp>
#include <weft/serializers/raw.hpp>
#include <weft/serializers/scalar.hpp>

#include <array>
#include <bitset>
#include <chrono>
#include <complex>
#include <concepts>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

namespace weft::serializers {

namespace detail {

template <class T>
struct loads_late;

template <class T>
concept asks_for_late_delivery = requires {
  { T::weft_late_delivery } -> std::convertible_to<bool>;
};

template <class T>
consteval bool loads_late_by_itself() {
  if constexpr (asks_for_late_delivery<T>)
    return T::weft_late_delivery;
  else
    return std::is_arithmetic_v<T> || std::is_enum_v<T> || has_codec<T> || raw_object<T>;
}

}  // namespace detail

/// Whether values of a type may be loaded before the bytes of their segments have come, which then go directly into
/// them: the loading neither looks at these bytes nor copies them, and moves what holds them only as `std::move` does.
/// So for the standard library; a type of your own says so with a member `static constexpr bool weft_late_delivery =
/// true`, or a specialization of this. For all others segments are received first, and copied once.
template <class T>
inline constexpr bool late_delivery = detail::loads_late<T>::value;

namespace detail {

template <class T>
struct loads_late : std::bool_constant<loads_late_by_itself<T>()> {};

template <class... Ts>
inline constexpr bool all_late = (late_delivery<Ts> && ...);
// Where a container grows, an element that may not be moved is copied.
template <class T>
inline constexpr bool late_where_moved = late_delivery<T>&& std::is_nothrow_move_constructible_v<T>;
// Moved into a container with another allocator, a range is copied.
template <class A>
inline constexpr bool moves_along = std::allocator_traits<A>::is_always_equal::value;

template <class C, class Traits, class A>
struct loads_late<std::basic_string<C, Traits, A>> : std::bool_constant<moves_along<A>> {};
template <class T, class A>
struct loads_late<std::vector<T, A>> : std::bool_constant<moves_along<A> && late_where_moved<T>> {};
template <class T, std::size_t N>
struct loads_late<std::array<T, N>> : std::bool_constant<late_delivery<T>> {};
template <class T, class A>
struct loads_late<std::deque<T, A>> : std::bool_constant<late_delivery<T>> {};
template <class T, class A>
struct loads_late<std::list<T, A>> : std::bool_constant<late_delivery<T>> {};

// Keys have no segments, because they are looked at.
template <class K, class V, class C, class A>
struct loads_late<std::map<K, V, C, A>> : std::bool_constant<late_where_moved<V>> {};
template <class K, class V, class C, class A>
struct loads_late<std::multimap<K, V, C, A>> : std::bool_constant<late_where_moved<V>> {};
template <class K, class V, class H, class E, class A>
struct loads_late<std::unordered_map<K, V, H, E, A>> : std::bool_constant<late_where_moved<V>> {};
template <class K, class V, class H, class E, class A>
struct loads_late<std::unordered_multimap<K, V, H, E, A>> : std::bool_constant<late_where_moved<V>> {};
template <class K, class C, class A>
struct loads_late<std::set<K, C, A>> : std::true_type {};
template <class K, class C, class A>
struct loads_late<std::multiset<K, C, A>> : std::true_type {};
template <class K, class H, class E, class A>
struct loads_late<std::unordered_set<K, H, E, A>> : std::true_type {};
template <class K, class H, class E, class A>
struct loads_late<std::unordered_multiset<K, H, E, A>> : std::true_type {};

template <class A, class B>
struct loads_late<std::pair<A, B>> : std::bool_constant<all_late<A, B>> {};
template <class... Ts>
struct loads_late<std::tuple<Ts...>> : std::bool_constant<all_late<Ts...>> {};
template <class T>
struct loads_late<std::optional<T>> : std::bool_constant<late_where_moved<T>> {};
template <class... Ts>
struct loads_late<std::variant<Ts...>> : std::bool_constant<(late_where_moved<Ts> && ...)> {};
template <class T>
struct loads_late<std::complex<T>> : std::true_type {};
template <std::size_t N>
struct loads_late<std::bitset<N>> : std::true_type {};
template <class Rep, class Period>
struct loads_late<std::chrono::duration<Rep, Period>> : std::true_type {};

// What a pointer of a base points to is known only while it is loaded.
template <class T, class Deleter>
struct loads_late<std::unique_ptr<T, Deleter>> : std::bool_constant<late_delivery<T> && !std::is_polymorphic_v<T>> {};
template <class T>
struct loads_late<std::shared_ptr<T>> : std::bool_constant<late_delivery<T> && !std::is_polymorphic_v<T>> {};

}  // namespace detail

}  // namespace weft::serializers
