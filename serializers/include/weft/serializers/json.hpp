// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Objects as JSON, for people to read and for peers in other languages. Only where this header is included, and
/// `weft::json` named in a send or a receive, are functions of a type instantiated for JSON.
///
/// A class hierarchy is registered (CEREAL_REGISTER_TYPE) after this header, in the same source file or in the header
/// of the class, to travel as JSON.
#include <weft/serializers/cereal.hpp>
#include <weft/serializers/frame.hpp>
#include <weft/serializers/json_containers.hpp>
#include <weft/serializers/json_values.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>

namespace weft::serializers {

/// Frames whose body is a JSON text. Who receives with it takes binary frames as well: the frame says what it is.
/// Segments are not used; all is part of the text.
struct json {
  /// What the frames say.
  static constexpr serializer_id serializer = serializer_id::json;

  /// Appends a frame, as `weft::serializers::encode`. Throws std::invalid_argument for strings that are not UTF-8.
  template <class... Ts>
  static void encode(byte_buffer& out, segment_list&, const Ts&... objects) {
    frame_writer frame(out, sizeof...(Ts), serializer);
    json_output_archive archive(out);
    ((void)archive(objects), ...);
    archive.finish();
    frame.finish();
  }
  /// Reads a frame, as `weft::serializers::decode_into`.
  template <class... Ts>
  static void decode_into(std::span<const std::byte> frame, segment_reader& segments, const limits& bounds,
                          Ts&... objects) {
    if (serializer_of(frame) != serializer) return serializers::decode_into(frame, segments, bounds, objects...);
    reader whole(frame);
    reader in = whole.read_part(read_frame_header(whole, sizeof...(Ts), serializer));
    segments.read_table(whole, bounds);
    detail::load_all<Ts...>(in, [&] {
      json_input_archive archive(in, bounds, sizeof...(Ts));
      ((void)archive(objects), ...);
    });
    segments.expect_end(in);
  }
};

}  // namespace weft::serializers

namespace weft {
using serializers::json;
}  // namespace weft
