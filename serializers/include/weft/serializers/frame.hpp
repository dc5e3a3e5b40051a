// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/serializers/cereal.hpp>
#include <weft/serializers/frame_header.hpp>
#include <weft/serializers/std_type_names.hpp>

#include <exception>
#include <span>
#include <string_view>
#include <tuple>

namespace weft::serializers {

namespace detail {
[[noreturn]] void fail_to_load(const reader& in, const std::exception& problem, std::string_view types);
}  // namespace detail

/// Appends one frame that holds the objects, in order. Objects shared within the frame (shared_ptr) are written once.
/// What the serialization of an object throws passes through, and leaves `out` as it was.
template <class... Ts>
void encode(byte_buffer& out, const Ts&... objects) {
  frame_writer frame(out, sizeof...(Ts));
  binary_output_archive archive(out);
  ((void)archive(objects), ...);
  frame.finish();
}

/// Reads the objects of a frame into existing ones, whose capacity is reused. Throws `decode_error` for whatever is
/// wrong with the frame, including what the loading of an object throws; the objects then hold valid, unspecified
/// values.
template <class... Ts>
void decode_into(std::span<const std::byte> frame, const limits& bounds, Ts&... objects) {
  reader in(frame);
  read_frame_header(in, sizeof...(Ts));
  try {
    binary_input_archive archive(in, bounds);
    ((void)archive(objects), ...);
  } catch (const decode_error&) {
    throw;
  } catch (const std::exception& problem) {
    detail::fail_to_load(in, problem, detail::joined_names<Ts...>::value);
  }
  in.expect_end();
}

/// Reads the objects of a frame. Each type must be default-constructible. Errors as for `decode_into`.
template <class... Ts>
[[nodiscard]] std::tuple<Ts...> decode(std::span<const std::byte> frame, const limits& bounds = {}) {
  std::tuple<Ts...> objects;
  std::apply([&](Ts&... object) { decode_into(frame, bounds, object...); }, objects);
  return objects;
}

}  // namespace weft::serializers
