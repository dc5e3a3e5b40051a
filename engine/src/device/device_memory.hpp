// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace weft::detail {

/// Where `device_buffer`s come from. From any thread. Shared with the buffers, which may outlive the engine.
class device_memory {
 public:
  virtual ~device_memory() = default;

  /// Null where there is not so much left. At least one byte, aligned as cudaMalloc aligns.
  [[nodiscard]] virtual std::byte* take(std::size_t bytes) = 0;
  virtual void give_back(std::byte* part) noexcept = 0;
};

}  // namespace weft::detail
