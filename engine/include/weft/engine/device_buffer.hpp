// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/engine/buffer.hpp>
#include <weft/engine/detail/core.hpp>

#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

namespace weft {

namespace detail {

/// Memory of a device, given back when nobody refers to it any more: neither a `device_buffer` nor an operation.
struct device_block : owned_memory {
  buffer_view whole;
};

}  // namespace detail

/// Memory of this rank's device, made by `communicator::device_buffer`. An operation on it shares its ownership: the
/// buffer may be destroyed, and whoever waits may go, while a transfer is still under way.
///
/// On the host device this is ordinary memory, which the program may read and write between operations. Its content is
/// not initialized.
///
/// A buffer may be a member of objects, or an element of their containers: `send_objects` then sends its bytes from
/// where they lie, and the receiver gets a buffer of its own device.
class device_buffer {
 public:
  static constexpr std::string_view weft_type_name = "weft::device_buffer";  ///< of objects that hold one

  /// No memory.
  device_buffer() = default;
  /// Called by `communicator::device_buffer`.
  explicit device_buffer(std::shared_ptr<detail::device_block> block) : block_(std::move(block)) {}
  /// The memory goes along; what was moved from has none.
  /// @{
  device_buffer(device_buffer&&) noexcept = default;
  device_buffer& operator=(device_buffer&&) noexcept = default;
  /// @}

  /// Null where there is no memory.
  [[nodiscard]] void* data() const noexcept { return view().data; }
  /// In bytes.
  [[nodiscard]] std::size_t size() const noexcept { return view().size; }
  /// What the bytes are.
  [[nodiscard]] element_type element() const noexcept { return view().element; }

  /// The whole, borrowed: an operation on a view, or on a part of one, does not keep the memory.
  [[nodiscard]] buffer_view view() const noexcept { return block_ ? block_->whole : buffer_view{}; }
  /// As `view`.
  /// @{
  operator buffer_view() const noexcept { return view(); }
  operator const_buffer_view() const noexcept { return view(); }
  /// @}

  /// For operations, which share the ownership.
  [[nodiscard]] const std::shared_ptr<detail::device_block>& block() const noexcept { return block_; }

 private:
  std::shared_ptr<detail::device_block> block_;
};

}  // namespace weft
