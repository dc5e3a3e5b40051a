// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/engine/communicator.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

namespace weft::testing {

/// Memory of one operation.
struct program_buffer {
  buffer_view view;
  std::shared_ptr<const void> keeper;  ///< owns it
};

/// Where the operations of a rank's programs have their bytes: in the host's memory. A machine with a device has more
/// kinds of it.
class program_memory {
 public:
  program_memory() = default;
  program_memory(const program_memory&) = delete;
  program_memory& operator=(const program_memory&) = delete;
  virtual ~program_memory() = default;

  /// Memory of the kind that `draw`, a random number, decides.
  [[nodiscard]] virtual program_buffer take(const communicator&, std::uint32_t draw, std::size_t bytes) {
    (void)draw;
    const auto made = std::make_shared<std::vector<std::byte>>(bytes);
    return {writable_view_of(*made), made};
  }
  /// Fills the whole.
  virtual void write(const buffer_view& to, std::span<const std::byte> bytes) {
    if (to.size != 0) std::memcpy(to.data, bytes.data(), to.size);
  }
  [[nodiscard]] virtual std::vector<std::byte> read(const buffer_view& from) {
    const auto* const first = static_cast<const std::byte*>(from.data);
    return {first, first + from.size};
  }
};

}  // namespace weft::testing
