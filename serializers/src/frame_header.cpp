// SPDX-License-Identifier: Apache-2.0
#include <weft/serializers/frame_header.hpp>

#include <string>

namespace weft::serializers {

namespace {

/// Reads one field and compares it.
template <scalar T>
void expect(reader& in, T expected, const std::string& field) {
  const std::size_t offset = in.offset();
  const T found = in.read<T>();
  if (found != expected) {
    throw decode_error(offset, field + " " + std::to_string(found), std::to_string(expected));
  }
}

}  // namespace

void read_frame_header(reader& in, std::uint32_t objects) {
  expect(in, frame_magic, "a frame mark of");
  expect(in, frame_version, "frame version");
  expect(in, static_cast<std::uint8_t>(serializer_id::cereal_binary), "serializer");
  expect(in, objects, "a number of objects of");
  const std::size_t at_length = in.offset();
  const auto body = in.read<std::uint64_t>();
  if (body != in.remaining()) {
    throw decode_error(at_length, "a body length of " + std::to_string(body),
                       std::to_string(in.remaining()) + ", the bytes that follow");
  }
}

}  // namespace weft::serializers
