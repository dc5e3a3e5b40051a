// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/engine/device_buffer.hpp>
#include <weft/serializers/binary_archive.hpp>

#include <cereal/macros.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

/// How buffers of device memory are members of objects: the archive has their size and element type, and the bytes are
/// segments.
namespace weft {

inline void CEREAL_SAVE_FUNCTION_NAME(serializers::binary_output_archive& archive, const device_buffer& buffer) {
  archive.out().append(static_cast<std::uint64_t>(buffer.size()));
  archive.out().append(static_cast<std::uint8_t>(buffer.element()));
  if (buffer.size() != 0) archive.lend_apart(&buffer, buffer.data(), buffer.size(), buffer.view().ordinal);
}

inline void CEREAL_LOAD_FUNCTION_NAME(serializers::binary_input_archive& archive, device_buffer& buffer) {
  const auto bytes = archive.in().read<std::uint64_t>();
  const auto element = archive.in().read<std::uint8_t>();
  if (element > static_cast<std::uint8_t>(element_type::c128))
    archive.in().fail("element type " + std::to_string(element),
                      "0 to " + std::to_string(static_cast<int>(element_type::c128)));
  if (bytes == 0) {
    buffer = {};
    return;
  }
  auto block = std::static_pointer_cast<detail::device_block>(archive.next_apart(bytes));
  block->whole.element = static_cast<element_type>(element);
  buffer = device_buffer(std::move(block));
}

}  // namespace weft
