// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/serializers/cereal.hpp>
#include <weft/serializers/frame_header.hpp>
#include <weft/serializers/late_delivery.hpp>
#include <weft/serializers/std_type_names.hpp>

#include <concepts>
#include <exception>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

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

/// The same, but for large ranges that are left where they lie: they are added to `segments`, and follow the frame.
template <class... Ts>
void encode(byte_buffer& out, segment_list& segments, const Ts&... objects) {
  frame_writer frame(out, sizeof...(Ts));
  binary_output_archive archive(out, &segments);
  ((void)archive(objects), ...);
  frame.finish(segments);
}

namespace detail {
/// Calls `load`, which loads these types from `in`; what it throws becomes a `decode_error`.
template <class... Ts, class Load>
void load_all(reader& in, const Load& load) {
  try {
    load();
  } catch (const decode_error&) {
    throw;
  } catch (const std::exception& problem) {
    fail_to_load(in, problem, joined_names<Ts...>::value);
  }
  in.expect_end();
}
}  // namespace detail

/// Reads the objects of a frame whose segments come from `segments`. Throws as below, and `cannot_land` where the
/// segments have not arrived and have to.
template <class... Ts>
void decode_into(std::span<const std::byte> frame, segment_reader& segments, const limits& bounds, Ts&... objects) {
  reader whole(frame);
  reader in = whole.read_part(read_frame_header(whole, sizeof...(Ts)));
  segments.read_table(whole, bounds);
  (segments.add_fixed(&objects, sizeof objects), ...);
  detail::load_all<Ts...>(in, [&] {
    binary_input_archive archive(in, bounds, &segments);
    ((void)archive(objects), ...);
  });
  segments.expect_end(in);
}

/// The sizes of the segments of a frame of so many objects: they add up to `bytes`. Throws as above.
[[nodiscard]] std::vector<std::uint64_t> segment_sizes(std::span<const std::byte> frame, std::uint32_t objects,
                                                       std::uint64_t bytes, const limits& bounds);

/// Reads the objects of a frame into existing ones, whose capacity is reused. Throws `decode_error` for whatever is
/// wrong with the frame, including what the loading of an object throws; the objects then hold valid, unspecified
/// values.
template <class... Ts>
void decode_into(std::span<const std::byte> frame, const limits& bounds, Ts&... objects) {
  segment_reader none(std::span<const std::byte>{});
  decode_into(frame, none, bounds, objects...);
}

/// Reads the objects of a frame. Each type must be default-constructible. Errors as for `decode_into`.
template <class... Ts>
[[nodiscard]] std::tuple<Ts...> decode(std::span<const std::byte> frame, const limits& bounds = {}) {
  std::tuple<Ts...> objects;
  std::apply([&](Ts&... object) { decode_into(frame, bounds, object...); }, objects);
  return objects;
}

/// How objects become the body of a frame, and are found again in one: what `encode` and `decode_into` do.
/// `weft::serializers::json` is another.
struct binary {
  /// What the frames say.
  static constexpr serializer_id serializer = serializer_id::cereal_binary;

  /// Appends a frame, as `weft::serializers::encode`.
  template <class... Ts>
  static void encode(byte_buffer& out, segment_list& segments, const Ts&... objects) {
    serializers::encode(out, segments, objects...);
  }
  /// Reads a frame, as `weft::serializers::decode_into`.
  template <class... Ts>
  static void decode_into(std::span<const std::byte> frame, segment_reader& segments, const limits& bounds,
                          Ts&... objects) {
    serializers::decode_into(frame, segments, bounds, objects...);
  }
};

/// `binary`, or what stands in its place.
template <class T>
concept frame_format = requires {
  { T::serializer } -> std::same_as<const serializer_id&>;
};

}  // namespace weft::serializers
