// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <type_traits>

namespace weft::serializers {

namespace detail {

template <class T>
concept asks_to_be_raw = requires {
  { T::weft_raw } -> std::convertible_to<bool>;
};

template <class T>
consteval bool is_raw_by_itself() {
  if constexpr (asks_to_be_raw<T>)
    return T::weft_raw;
  else
    return false;
}

/// Of bytes that are all 2, padding loses some on the way through an object, and so does a bool, which may hold 0 or 1.
/// With pointers and unions the way is none for a constant.
template <class T>
consteval bool keeps_all_bytes() {
  using bytes = std::array<unsigned char, sizeof(T)>;
  bytes before{};
  before.fill(2);
  const bytes after = std::bit_cast<bytes>(std::bit_cast<T>(before));
  return after == before;
}

}  // namespace detail

/// Whether objects of a type may travel as the bytes that they are in memory: trivially copyable, without padding
/// (which would carry along what memory held before), without pointers, and a value whatever the bytes are (which a
/// `bool` is not: make it a std::uint8_t). Known for literal types only, those that a constant can be of.
template <class T>
concept raw_layout = std::is_trivially_copyable_v<T> && std::is_class_v<T> && requires {
  typename std::bool_constant<detail::keeps_all_bytes<T>()>;
} && detail::keeps_all_bytes<T>();

/// Whether objects of a type are copied as their bytes, and ranges of them whole, which travel from where they lie when
/// they are large. A type asks for it with a member `static constexpr bool weft_raw = true`, or a specialization of
/// this, and must be a `raw_layout`. Both ends must have the same layout: the same members in the same order, of the
/// same width and alignment. The receiver checks the size, and nothing else.
template <class T>
inline constexpr bool raw = detail::is_raw_by_itself<T>();

/// A type for which that is so.
template <class T>
concept raw_object = raw<T>;

namespace detail {
/// Explains what is wrong with a type that asks to be raw.
template <class T>
consteval bool check_raw() {
  static_assert(std::is_trivially_copyable_v<T>, "a raw type is trivially copyable");
  static_assert(raw_layout<T>,
                "a raw type has no padding (order members by size, or fill the gaps with members), no bool (make it "
                "std::uint8_t), no pointer and no union, and is a literal type");
  return true;
}
}  // namespace detail

}  // namespace weft::serializers
