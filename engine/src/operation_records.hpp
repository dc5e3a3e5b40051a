// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "memory_cursor.hpp"

#include <weft/engine/detail/core.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace weft::detail {

/// What the engine keeps of an operation beside the protocol's view of it: who waits, and where the bytes are. Under
/// the slot of its name.
struct operation_record {
  detail::waiter* waiter = nullptr;  ///< null once abandoned
  const detail::group* group = nullptr;
  std::vector<memory_piece> pieces;
  memory_cursor cursor;  ///< where the next bytes of a receive go
  serializers::byte_buffer frame;
  std::shared_ptr<owned_memory> owner;
  payload_kind kind = payload_kind::buffer;
  memory_kind memory = memory_kind::host;
  std::vector<memory_piece> device_pieces;  ///< of a staged message: where it is at the end, or comes from
  bool borrows = false;                     ///< objects, parts of which are the caller's memory
  bool is_landing = false;                  ///< objects whose rest goes to the pieces, not to the frame
  bool is_discarded = false;                ///< by its user: it counts as no traffic
  bool examines = false;                    ///< a receive that is held once it is matched
  bool is_held = false;                     ///< its user has to decide, and is told only then what becomes of it
  bool is_apart = false;                    ///< the host does not reach its memory
  bool awaits_work = false;                 ///< of a GPU, before the buffer may be touched
  bool awaits_copy = false;                 ///< from a GPU's memory, before it may be sent

  /// Whether the engine keeps the memory alive, whoever waits.
  [[nodiscard]] bool is_owned() const noexcept {
    return !borrows && (owner != nullptr || kind == payload_kind::objects);
  }

  [[nodiscard]] bool is_ready() const noexcept { return !awaits_work && !awaits_copy; }
  /// The message travels by a link, and its bytes are kept in `frame` on their way from or to a GPU's memory.
  [[nodiscard]] bool is_staged() const noexcept { return !device_pieces.empty(); }

  /// Objects arrive in a frame, and it has none.
  [[nodiscard]] bool wants_frame() const noexcept {
    return kind == payload_kind::objects && !is_landing && !is_apart && frame.capacity() == 0;
  }

  void take(operation_request& request);
  /// The message that it holds is received as the request says.
  void resume(operation_request& request);
  /// A message of that size comes by a link: makes room for objects, and for what goes on to a GPU's memory.
  void expect(std::uint64_t bytes);
  /// Takes memory for a message of that size, of which the host reaches the first `head` bytes only.
  void stage(std::uint64_t bytes, std::uint64_t head = 0);
  /// What of that stands for memory that the host does not reach.
  [[nodiscard]] std::vector<memory_piece> staged() const;
  /// For objects of that size.
  void make_room(std::uint64_t bytes);
  void clear() noexcept;
  [[nodiscard]] std::size_t total_bytes() const noexcept;

 private:
  void view_frame();
  void add(std::span<const const_buffer_view> views);
};

/// Records by slot. Addresses are stable, because the launch thread holds views of the pieces.
class operation_records {
 public:
  operation_record& operator[](std::uint32_t slot) {
    while (slot / per_page >= pages_.size()) pages_.push_back(std::make_unique<page>());
    return (*pages_[slot / per_page])[slot % per_page];
  }

 private:
  static constexpr std::uint32_t per_page = 32;
  using page = std::array<operation_record, per_page>;

  std::vector<std::unique_ptr<page>> pages_;
};

}  // namespace weft::detail
