// SPDX-License-Identifier: Apache-2.0
#include "operation_records.hpp"

namespace weft::detail {

void operation_record::take(operation_request& request) {
  waiter = request.waiter;
  group = request.group;
  kind = request.kind;
  owner = std::move(request.owner);
  frame = std::move(request.frame);
  borrows = request.borrows;
  examines = request.examines;
  pieces.clear();
  memory = memory_kind::host;
  if (!frame.empty()) pieces.push_back({frame.data(), frame.size()});
  add(request.pieces);
}

void operation_record::resume(operation_request& request) {
  waiter = request.waiter;
  kind = request.kind;
  owner = std::move(request.owner);
  borrows = request.borrows;
  is_held = false;
  is_landing = kind == payload_kind::objects && !request.pieces.empty();
  pieces.clear();
  add(request.pieces);
}

void operation_record::add(std::span<const const_buffer_view> views) {
  for (const const_buffer_view& view : views) {
    // A receive's views were made from writable memory; a send only reads.
    auto* data = static_cast<std::byte*>(const_cast<void*>(view.data));
    pieces.push_back({data, view.size});
    memory = view.memory;
  }
  cursor = memory_cursor(pieces);
}

void operation_record::view_frame() {
  pieces.assign(1, {frame.data(), frame.size()});
  cursor = memory_cursor(pieces);
}

void operation_record::expect(std::uint64_t bytes) {
  is_apart ? stage(bytes) : make_room(bytes);
}

void operation_record::make_room(std::uint64_t bytes) {
  if (kind != payload_kind::objects || is_landing) return;
  frame.clear();
  frame.resize_uninitialized(bytes);
  view_frame();
}

void operation_record::stage(std::uint64_t bytes, std::uint64_t head) {
  serializers::byte_buffer whole;
  whole.resize_uninitialized(bytes);
  if (head != 0) {
    memory_cursor(pieces).read(whole.data(), head);
    pieces.erase(pieces.begin());
  }
  device_pieces = std::move(pieces);
  frame = std::move(whole);
  view_frame();
}

std::vector<memory_piece> operation_record::staged() const {
  std::size_t apart = 0;
  for (const memory_piece& piece : device_pieces) apart += piece.size;
  return {{pieces.front().data + (pieces.front().size - apart), apart}};
}

std::size_t operation_record::total_bytes() const noexcept {
  std::size_t total = 0;
  for (const memory_piece& piece : pieces) total += piece.size;
  return total;
}

void operation_record::clear() noexcept {
  waiter = nullptr;
  owner.reset();
  pieces.clear();
  frame = {};
  cursor = {};
  device_pieces.clear();
  borrows = is_landing = is_discarded = examines = is_held = is_apart = awaits_work = awaits_copy = false;
}

}  // namespace weft::detail
