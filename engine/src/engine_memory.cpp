// SPDX-License-Identifier: Apache-2.0
// Memory that the engine hands out: of the device, and frames for objects, which are used again.
#include "engine_core.hpp"

#include <cstddef>
#include <new>
#include <utility>

namespace weft::detail {
namespace {

// Frames that are kept for the next message: enough for many small ones, and no hoard of large ones.
constexpr std::size_t largest_kept_frame = std::size_t{1} << 20;
constexpr std::size_t most_kept_frames = 64;

/// A part of the device's memory.
struct pool_block final : device_block {
  pool_block(std::shared_ptr<device_memory> from, std::int16_t ordinal, std::size_t bytes, element_type element)
      : owner(std::move(from)) {
    std::byte* part = bytes == 0 ? nullptr : owner->take(bytes);
    if (part == nullptr && bytes != 0) throw std::bad_alloc();
    whole = {part, bytes, element, memory_kind::device, ordinal};
  }
  pool_block(const pool_block&) = delete;
  pool_block& operator=(const pool_block&) = delete;
  ~pool_block() override {
    if (whole.data != nullptr) owner->give_back(static_cast<std::byte*>(whole.data));
  }

  std::shared_ptr<device_memory> owner;
};

}  // namespace

std::shared_ptr<device_block> engine_core::allocate(std::size_t bytes, element_type element) {
  return std::make_shared<pool_block>(device_memory_, device_ordinal_, bytes, element);
}

void engine_core::count_segments(std::uint64_t landed, std::uint64_t copied) noexcept {
  const std::lock_guard lock(mutex_);
  stats_.landed += landed;
  stats_.copied += copied;
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

// A message of that size comes by a link, into a frame that was there before where it is objects.
void engine_core::expect(operation_record& record, std::uint64_t bytes) {
  if (record.wants_frame() && bytes <= largest_kept_frame && !frames_.empty()) {
    record.frame = std::move(frames_.back());
    frames_.pop_back();
  }
  record.expect(bytes);
}

void engine_core::keep_frame(serializers::byte_buffer frame) noexcept {
  if (frame.capacity() == 0 || frame.capacity() > largest_kept_frame || frames_.size() >= most_kept_frames) return;
  frame.clear();
  frames_.push_back(std::move(frame));
}

}  // namespace weft::detail
