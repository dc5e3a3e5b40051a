// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>

namespace weft::serializers {

/// What a frame that is decoded may ask for beyond its own length. A container may hold no more elements than the
/// frame has bytes left, except for elements that take no bytes; those are bounded here.
struct limits {
  /// Unit: elements that take no bytes (empty structs), summed over all containers of one frame.
  std::uint64_t max_elements_without_bytes = 65'536;

  /// Unit: objects within one another. Classes and containers count one each, pointers count as what they point to.
  /// The default takes some 30 KiB of stack, 250 KiB in builds for debugging, and holds any document that people write.
  std::uint32_t max_depth = 256;

  /// Unit: segments, the large ranges that travel behind a frame. A piece of memory of its own for each takes some
  /// 50 bytes of bookkeeping; the default bounds that to 50 MB.
  std::uint64_t max_segments = 1'048'576;

  /// Unit: elements of one container. The default leaves it to the bytes of the frame.
  std::uint64_t max_elements = std::numeric_limits<std::uint64_t>::max();

  /// Unit: bytes. Memory that is taken for segments before they have arrived, where they go directly into the objects;
  /// what is longer was announced by someone who has yet to show that it exists.
  std::uint64_t max_bytes_ahead = std::uint64_t{1} << 30;
};

}  // namespace weft::serializers
