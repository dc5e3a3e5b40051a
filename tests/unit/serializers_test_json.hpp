// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/serializers/json.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>

/// The text that these objects are in a frame.
template <class... Ts>
std::string json_of(const Ts&... objects) {
  weft::serializers::byte_buffer frame;
  weft::serializers::segment_list segments;
  weft::serializers::json::encode(frame, segments, objects...);
  CHECK(segments.segments().empty());
  const auto body = frame.bytes().subspan(sizeof(weft::serializers::frame_header));
  return {reinterpret_cast<const char*>(body.data()), body.size()};
}

/// One object out of a frame with this text.
template <class T>
T from_json(std::string_view text, const weft::serializers::limits& bounds = {}) {
  namespace serializers = weft::serializers;
  serializers::byte_buffer frame;
  serializers::frame_writer writer(frame, 1, serializers::serializer_id::json);
  frame.append(text.data(), text.size());
  writer.finish();
  T object{};
  serializers::segment_reader none(std::span<const std::byte>{});
  serializers::json::decode_into(frame.bytes(), none, bounds, object);
  return object;
}

template <class T>
void refuses_json(std::string_view text, const char* reason) {
  CAPTURE(text.substr(0, 100));
  CHECK_THROWS_WITH_AS((void)from_json<T>(text), doctest::Contains(reason), weft::serializers::decode_error);
}
