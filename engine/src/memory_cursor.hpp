// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/engine/buffer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

namespace weft::detail {

/// One piece of memory of a message. Sends only read it.
struct memory_piece {
  std::byte* data = nullptr;
  std::size_t size = 0;
};

/// Where the bytes of a message lie: pieces in one kind of memory.
struct message_memory {
  std::span<const memory_piece> pieces;
  memory_kind kind = memory_kind::host;

  [[nodiscard]] std::size_t bytes() const noexcept {
    std::size_t sum = 0;
    for (const memory_piece& piece : pieces) sum += piece.size;
    return sum;
  }
};

/// A place within a message that lies in several pieces. Copyable; refers to pieces kept elsewhere.
class memory_cursor {
 public:
  memory_cursor() = default;
  explicit memory_cursor(std::span<const memory_piece> pieces) noexcept : pieces_(pieces) { skip_empty(); }

  [[nodiscard]] bool at_end() const noexcept { return index_ == pieces_.size(); }

  void advance(std::size_t bytes) noexcept {
    while (bytes != 0 && !at_end()) {
      const std::size_t step = std::min(bytes, pieces_[index_].size - offset_);
      offset_ += step;
      bytes -= step;
      if (offset_ == pieces_[index_].size) next();
    }
  }

  /// Appends the memory from here on to `out` (anything made from pointer and size), up to `limit` bytes and `most`
  /// pieces; the bytes appended.
  template <class Buffer>
  std::size_t gather(std::vector<Buffer>& out, std::size_t limit, std::size_t most) const {
    memory_cursor at = *this;
    std::size_t total = 0;
    for (; most != 0 && total < limit && !at.at_end(); --most) {
      const memory_piece& piece = at.pieces_[at.index_];
      const std::size_t size = std::min(limit - total, piece.size - at.offset_);
      out.emplace_back(piece.data + at.offset_, size);
      total += size;
      at.advance(size);
    }
    return total;
  }

  /// Copies `bytes` from `source` to here, and moves on.
  void write(const std::byte* source, std::size_t bytes) noexcept {
    while (bytes != 0 && !at_end()) {
      const std::size_t step = std::min(bytes, pieces_[index_].size - offset_);
      std::memcpy(pieces_[index_].data + offset_, source, step);
      source += step;
      bytes -= step;
      advance(step);
    }
  }

  /// Copies `bytes` from here to `target`, and moves on.
  void read(std::byte* target, std::size_t bytes) noexcept {
    while (bytes != 0 && !at_end()) {
      const std::size_t step = std::min(bytes, pieces_[index_].size - offset_);
      std::memcpy(target, pieces_[index_].data + offset_, step);
      target += step;
      bytes -= step;
      advance(step);
    }
  }

 private:
  void next() noexcept {
    ++index_;
    offset_ = 0;
    skip_empty();
  }
  void skip_empty() noexcept {
    while (index_ < pieces_.size() && pieces_[index_].size == 0) ++index_;
  }

  std::span<const memory_piece> pieces_;
  std::size_t index_ = 0;
  std::size_t offset_ = 0;
};

/// Copies `bytes` of a message, from `offset` on, to the beginning of other memory.
inline void copy_message(std::span<const memory_piece> from, std::size_t offset, std::span<const memory_piece> to,
                         std::size_t bytes) noexcept {
  memory_cursor target(to);
  for (const memory_piece& piece : from) {
    const std::size_t skipped = std::min(piece.size, offset);
    const std::size_t size = std::min(piece.size - skipped, bytes);
    if (size != 0) target.write(piece.data + skipped, size);
    offset -= skipped;
    bytes -= size;
  }
}

}  // namespace weft::detail
