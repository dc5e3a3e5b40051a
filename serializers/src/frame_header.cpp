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

}  // namespace

std::size_t read_frame_header(reader& in, std::uint32_t objects) {
  frame_header header;
  std::memcpy(&header, in.read_bytes(sizeof header).data(), sizeof header);
  check(offsetof(frame_header, mark), "the mark ", header.mark, frame_mark);
  check(offsetof(frame_header, version), "frame version ", header.version, frame_version);
  check(offsetof(frame_header, serializer), "serializer ", static_cast<std::uint64_t>(header.serializer),
        static_cast<std::uint64_t>(serializer_id::cereal_binary));
  check(offsetof(frame_header, objects), "the number of objects ", header.objects, objects);
  if (header.body_bytes > in.remaining()) {
    throw decode_error(offsetof(frame_header, body_bytes), "a body of " + std::to_string(header.body_bytes) + " bytes",
                       "at most the " + std::to_string(in.remaining()) + " that follow");
  }
  return static_cast<std::size_t>(header.body_bytes);
}

}  // namespace weft::serializers
