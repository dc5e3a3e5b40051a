// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/serializers/byte_buffer.hpp>
#include <weft/serializers/reader.hpp>

#include <cstddef>
#include <cstdint>

namespace weft::serializers {

/// How the body of a frame was written.
enum class serializer_id : std::uint8_t {
  cereal_binary = 1,  ///< by `binary_output_archive`
};

/// A frame begins with these 16 bytes, little-endian, and its body follows:
/// two bytes "WF", the version of this layout, the serializer, the number of objects (u32), the bytes of the body
/// (u64).
inline constexpr std::uint16_t frame_magic = 0x4657;
inline constexpr std::uint8_t frame_version = 1;
inline constexpr std::size_t frame_header_bytes = 16;

/// Puts the header before a body that is being appended to `out`; takes both back unless `finish` is reached.
class frame_writer {
 public:
  frame_writer(byte_buffer& out, std::uint32_t objects) : out_(out), begin_(out.size()) {
    out.append(frame_magic);
    out.append(frame_version);
    out.append(static_cast<std::uint8_t>(serializer_id::cereal_binary));
    out.append(objects);
    out.append(std::uint64_t{0});
  }
  frame_writer(const frame_writer&) = delete;
  frame_writer& operator=(const frame_writer&) = delete;
  ~frame_writer() {
    if (!finished_) out_.resize_uninitialized(begin_);
  }

  /// The body is complete: writes its length into the header.
  void finish() noexcept {
    const std::uint64_t body = out_.size() - begin_ - frame_header_bytes;
    std::memcpy(out_.data() + begin_ + frame_header_bytes - sizeof body, &body, sizeof body);
    finished_ = true;
  }

 private:
  byte_buffer& out_;
  std::size_t begin_;
  bool finished_ = false;
};

/// Reads and checks the header of a frame that must hold so many objects and fill the rest of `in`.
void read_frame_header(reader& in, std::uint32_t objects);

}  // namespace weft::serializers
