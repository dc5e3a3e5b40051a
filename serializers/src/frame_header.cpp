// SPDX-License-Identifier: Apache-2.0
#include <weft/serializers/frame_header.hpp>

#include <cstddef>
#include <string>

namespace weft::serializers {

namespace {

void check(std::size_t offset, const char* field, std::uint64_t found, std::uint64_t expected) {
  if (found != expected) {
    throw decode_error(offset, field + std::to_string(found), std::to_string(expected));
  }
}

std::string describe(serializer_id id) {
  std::string number = std::to_string(static_cast<int>(id));
  switch (id) {
    case serializer_id::cereal_binary:
      return number + " (binary)";
    case serializer_id::json:
      return number + " (JSON)";
  }
  return number;
}

void check_serializer(serializer_id found, serializer_id expected) {
  if (found == expected) return;
  std::string what = describe(expected);
  if (found == serializer_id::json) what += "; to accept JSON as well, receive with weft::json before the types";
  throw decode_error(offsetof(frame_header, serializer), "serializer " + describe(found), what);
}

}  // namespace

serializer_id serializer_of(std::span<const std::byte> frame) noexcept {
  if (frame.size() < sizeof(frame_header)) return serializer_id::cereal_binary;
  return static_cast<serializer_id>(frame[offsetof(frame_header, serializer)]);
}

std::size_t read_frame_header(reader& in, std::uint32_t objects, serializer_id serializer) {
  frame_header header;
  std::memcpy(&header, in.read_bytes(sizeof header).data(), sizeof header);
  check(offsetof(frame_header, mark), "the mark ", header.mark, frame_mark);
  check(offsetof(frame_header, version), "frame version ", header.version, frame_version);
  check_serializer(header.serializer, serializer);
  check(offsetof(frame_header, objects), "the number of objects ", header.objects, objects);
  if (header.body_bytes > in.remaining()) {
    throw decode_error(offsetof(frame_header, body_bytes), "a body of " + std::to_string(header.body_bytes) + " bytes",
                       "at most the " + std::to_string(in.remaining()) + " that follow");
  }
  return static_cast<std::size_t>(header.body_bytes);
}

}  // namespace weft::serializers
