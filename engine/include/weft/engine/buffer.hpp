// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <string_view>
#include <type_traits>

namespace weft {

/// Where the bytes of a buffer lie.
enum class memory_kind : std::uint8_t {
  host,    ///< ordinary memory
  pinned,  ///< host memory that a device can address
  device,  ///< memory of the device with the view's ordinal
};

/// The ordinal of the host device, whose memory no GPU has; theirs count from 0.
inline constexpr std::int16_t host_device_ordinal = -1;

/// "host", "pinned", "device".
[[nodiscard]] std::string_view name(memory_kind kind) noexcept;

/// What the elements of a buffer are. The two ends of a transfer must name the same one.
enum class element_type : std::uint8_t {
  bytes,  ///< std::byte, char, unsigned char, and every trivially copyable class
  boolean,
  i8,
  i16,
  i32,
  i64,
  u16,
  u32,
  u64,
  f16,
  bf16,
  f32,
  f64,
  c64,   ///< complex of two f32
  c128,  ///< complex of two f64
};

/// "f32" and so on.
[[nodiscard]] std::string_view name(element_type type) noexcept;

namespace detail {

template <class T>
consteval element_type integral_element() {
  if (sizeof(T) == 1) return std::is_signed_v<T> ? element_type::i8 : element_type::bytes;
  if (sizeof(T) == 2) return std::is_signed_v<T> ? element_type::i16 : element_type::u16;
  if (sizeof(T) == 4) return std::is_signed_v<T> ? element_type::i32 : element_type::u32;
  return std::is_signed_v<T> ? element_type::i64 : element_type::u64;
}

}  // namespace detail

/// The element type that stands for a C++ type. Specialize for a type of your own (a 16-bit float, say).
template <class T>
inline constexpr element_type element_type_of = [] {
  if constexpr (std::same_as<T, bool>) return element_type::boolean;
  if constexpr (std::same_as<T, char>) return element_type::bytes;
  if constexpr (std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char>)
    return detail::integral_element<T>();
  if constexpr (std::same_as<T, float>) return element_type::f32;
  if constexpr (std::same_as<T, double>) return element_type::f64;
  if constexpr (std::same_as<T, std::complex<float>>) return element_type::c64;
  if constexpr (std::same_as<T, std::complex<double>>) return element_type::c128;
  return element_type::bytes;
}();

/// Read-only memory to send from. A view owns nothing: the memory must stay until the operation completes.
struct const_buffer_view {
  const void* data = nullptr;                  ///< null only where `size` is 0
  std::size_t size = 0;                        ///< in bytes
  element_type element = element_type::bytes;  ///< what the bytes are
  memory_kind memory = memory_kind::host;      ///< where they lie
  std::int16_t ordinal = 0;                    ///< of the device, where `memory` is `device`: the engine's own
};

/// Writable memory to receive into. A view owns nothing: the memory must stay until the operation completes.
struct buffer_view {
  void* data = nullptr;                        ///< null only where `size` is 0
  std::size_t size = 0;                        ///< in bytes
  element_type element = element_type::bytes;  ///< what the bytes are
  memory_kind memory = memory_kind::host;      ///< where they lie
  std::int16_t ordinal = 0;                    ///< of the device, where `memory` is `device`: the engine's own

  /// The same memory, to be read.
  operator const_buffer_view() const noexcept { return {data, size, element, memory, ordinal}; }
};

/// A contiguous range of trivially copyable elements that are not themselves views: one buffer.
template <class R>
concept contiguous_buffer = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
    std::is_trivially_copyable_v<std::ranges::range_value_t<R>> &&
    !std::convertible_to<std::ranges::range_value_t<R>, const_buffer_view>;

/// A contiguous buffer with elements that can be written: one that a receive can fill.
template <class R>
concept writable_buffer =
    contiguous_buffer<R> && !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>;

/// A view of a contiguous range, with the element type of its values.
template <contiguous_buffer R>
[[nodiscard]] const_buffer_view view_of(const R& range) noexcept {
  using value = std::ranges::range_value_t<R>;
  return {std::ranges::data(range), std::ranges::size(range) * sizeof(value), element_type_of<value>};
}

/// A writable view of a contiguous range, with the element type of its values.
template <class R>
requires writable_buffer<R>
[[nodiscard]] buffer_view writable_view_of(R&& range) noexcept {
  using value = std::ranges::range_value_t<R>;
  return {std::ranges::data(range), std::ranges::size(range) * sizeof(value), element_type_of<value>};
}

/// Several buffers that make up one message, as in Asio's buffer sequences: gathered on send.
template <class R>
concept const_buffer_sequence =
    std::ranges::forward_range<R> && std::convertible_to<std::ranges::range_reference_t<R>, const_buffer_view>;

/// Several buffers that one message fills in order: scattered on receive.
template <class R>
concept mutable_buffer_sequence =
    std::ranges::forward_range<R> && std::convertible_to<std::ranges::range_reference_t<R>, buffer_view>;

}  // namespace weft
