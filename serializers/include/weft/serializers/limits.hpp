// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace weft::serializers {

/// What a frame that is decoded may ask for beyond its own length. A container may hold no more elements than the
/// frame has bytes left, except for elements that take no bytes; those are bounded here.
struct limits {
  /// Unit: elements that take no bytes (empty structs), summed over all containers of one frame.
  std::uint64_t max_elements_without_bytes = 65'536;

  /// Unit: objects within one another. Classes and containers count one each, pointers count as what they point to.
  /// The default takes some 30 KiB of stack, 250 KiB in builds for debugging, and holds any document that people write.
  std::uint32_t max_depth = 256;
};

}  // namespace weft::serializers
