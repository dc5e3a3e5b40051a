// SPDX-License-Identifier: Apache-2.0
// Memory that the engine hands out: of the device, and frames for objects, which are used again.
#include "engine_core.hpp"

#include <cstddef>
#include <limits>
#include <new>

namespace weft::detail {
namespace {

// Frames that are kept for the next message: enough for many small ones, and no hoard of large ones.
constexpr std::size_t largest_kept_frame = std::size_t{1} << 20;
constexpr std::size_t most_kept_frames = 64;

// As cudaMalloc aligns.
constexpr std::align_val_t device_alignment{256};

/// Memory of the host device.
struct host_block final : device_block {
  host_block(std::size_t bytes, element_type element) {
    if (bytes == 0) return;
    // Rounded up to the alignment, such a size would wrap.
    if (bytes > static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max())) throw std::bad_alloc();
    whole = {::operator new(bytes, device_alignment), bytes, element, memory_kind::device};
  }
  host_block(const host_block&) = delete;
  host_block& operator=(const host_block&) = delete;
  ~host_block() override { ::operator delete(whole.data, device_alignment); }
};

}  // namespace

std::shared_ptr<device_block> engine_core::allocate(std::size_t bytes, element_type element) {
  return std::make_shared<host_block>(bytes, element);
}

serializers::byte_buffer engine_core::take_frame() {
  const std::lock_guard lock(mutex_);
  if (frames_.empty()) return {};
  serializers::byte_buffer frame = std::move(frames_.back());
  frames_.pop_back();
  return frame;
}

void engine_core::return_frame(serializers::byte_buffer frame) noexcept {
  const std::lock_guard lock(mutex_);
  keep_frame(std::move(frame));
}

void engine_core::keep_frame(serializers::byte_buffer frame) noexcept {
  if (frame.capacity() == 0 || frame.capacity() > largest_kept_frame || frames_.size() >= most_kept_frames) return;
  frame.clear();
  frames_.push_back(std::move(frame));
}

}  // namespace weft::detail
