// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/serializers/byte_buffer.hpp>
#include <weft/serializers/reader.hpp>
#include <weft/serializers/segments.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace weft::serializers {

/// How the body of a frame was written.
enum class serializer_id : std::uint8_t {
  cereal_binary = 1,  ///< by `binary_output_archive`
  json = 2,           ///< by `json_output_archive`: an array of the objects
};

/// How a frame begins, little-endian. The body follows, and then the sizes of the segments, if there are any.
struct frame_header {
  std::uint16_t mark;            ///< the letters "WF"
  std::uint8_t version;          ///< of this layout
  serializer_id serializer;      ///< what wrote the body
  std::uint32_t objects;         ///< how many the body holds
  std::uint64_t body_bytes = 0;  ///< after this header
};
static_assert(sizeof(frame_header) == 16, "the header is copied as it lies in memory, so it has no padding");

/// "WF" in memory: what `frame_header::mark` must be.
inline constexpr std::uint16_t frame_mark = 0x4657;
/// The layout that is written, and the only one that is read.
inline constexpr std::uint8_t frame_version = 2;

/// Puts the header before a body that is being appended to `out`; takes both back unless `finish` is reached.
class frame_writer {
 public:
  /// Appends the header of a frame of so many objects to `out`, which must outlive the writer.
  frame_writer(byte_buffer& out, std::uint32_t objects, serializer_id serializer = serializer_id::cereal_binary)
      : out_(out), begin_(out.size()), header_{frame_mark, frame_version, serializer, objects} {
    out.append(&header_, sizeof header_);
  }
  frame_writer(const frame_writer&) = delete;
  frame_writer& operator=(const frame_writer&) = delete;
  ~frame_writer() {
    if (!finished_) out_.resize_uninitialized(begin_);
  }

  /// The body is complete: writes its length into the header.
  void finish() noexcept { write_header(out_.size()); }

  /// The same for a body some of whose ranges travel behind the frame.
  void finish(const segment_list& segments) {
    const std::size_t body_end = out_.size();
    for (const segment& one : segments.segments()) out_.append(static_cast<std::uint64_t>(one.bytes));
    write_header(body_end);
  }

 private:
  void write_header(std::size_t body_end) noexcept {
    header_.body_bytes = body_end - begin_ - sizeof header_;
    std::memcpy(out_.data() + begin_, &header_, sizeof header_);
    finished_ = true;
  }
  byte_buffer& out_;
  std::size_t begin_;
  frame_header header_;
  bool finished_ = false;
};

/// What wrote the body of a frame; `cereal_binary` for what is none.
[[nodiscard]] serializer_id serializer_of(std::span<const std::byte> frame) noexcept;

/// Reads and checks the header of a frame that this serializer must have written, of so many objects; the bytes of its
/// body, all of which are there. Throws `decode_error`.
[[nodiscard]] std::size_t read_frame_header(reader& in, std::uint32_t objects,
                                            serializer_id serializer = serializer_id::cereal_binary);

}  // namespace weft::serializers
