// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fuzz_input.hpp"

#include <weft/serializers/frame_header.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weft::fuzz {

/// How an input of `fuzz_frames` begins. The sizes of the segments follow, in 16 bits each, and then the body.
struct frame_choices {
  std::uint8_t type = 0;      ///< of the object
  std::uint8_t flags = 0;     ///< `lands`, `has_header`
  std::uint8_t segments = 0;  ///< how many sizes follow

  static constexpr std::uint8_t lands = 1;       ///< the segments are still to come
  static constexpr std::uint8_t has_header = 2;  ///< the body is a whole frame, header and table included
};
static_assert(sizeof(frame_choices) == 3);

/// A frame as it arrives: with an honest header, or with whatever the input has there.
struct frame_input {
  serializers::byte_buffer frame;
  std::vector<std::byte> segments;  ///< their bytes

  frame_input(const frame_choices& choices, fuzz_input& input) {
    serializers::segment_list table;
    for (unsigned i = 0; i < choices.segments; ++i) table.add(nullptr, input.next<std::uint16_t>());
    segments.resize(table.bytes(), std::byte{1});
    const std::span<const std::byte> body = input.rest();
    if ((choices.flags & frame_choices::has_header) != 0) {
      frame.append(body.data(), body.size());
      return;
    }
    serializers::frame_writer writer(frame, 1);
    frame.append(body.data(), body.size());
    writer.finish(table);
  }
};

}  // namespace weft::fuzz
