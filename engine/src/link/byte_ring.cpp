// SPDX-License-Identifier: Apache-2.0
#include "link/byte_ring.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace weft::detail {
namespace {

// What is copied before the other end hears of it: large messages are copied in and out at the same time.
constexpr std::size_t published_at_once = std::size_t{128} << 10;
// A writer that waits is woken for that much room, not for each byte: waking costs as much as copying some of it.
constexpr std::size_t room_to_wake_for = ring_bytes / 4;

// Long ranges are copied in blocks, into whole cache lines. glibc's memcpy has "rep movsb" for them, which on AMD's
// processors goes at a third of its speed where the two ends lie differently in their cache lines, and at a sixth where
// the target is a few bytes further within its page (3.3 GB/s instead of 19, measured on an EPYC; glibc bug 30994). The
// ends of a ring seldom lie alike: what is in it begins behind a header.
constexpr std::size_t line = 64;
constexpr std::size_t long_copy = 2'048;

void copy_bytes(std::byte* to, const std::byte* from, std::size_t size) noexcept {
  if (size >= long_copy) {
    const std::size_t first = (line - reinterpret_cast<std::uintptr_t>(to) % line) % line;
    std::memcpy(to, from, first);
    to += first;
    from += first;
    size -= first;
    struct alignas(16) part {
      std::array<std::byte, 16> bytes;
    };
    std::array<part, 8> block;
    for (; size >= sizeof block; size -= sizeof block, to += sizeof block, from += sizeof block) {
      for (std::size_t i = 0; i < block.size(); ++i) std::memcpy(&block[i], from + i * sizeof(part), sizeof(part));
      for (std::size_t i = 0; i < block.size(); ++i) std::memcpy(to + i * sizeof(part), &block[i], sizeof(part));
    }
  }
  std::memcpy(to, from, size);
}

/// The bytes from a position on, up to the end of the memory.
std::size_t until_end(std::uint64_t position) noexcept {
  return ring_bytes - position % ring_bytes;
}

// Whoever falls asleep sets its flag and looks again; whoever has news publishes it and looks at the flag. In one order
// of all four (seq_cst), one of them sees the other.
bool take_flag(std::atomic<std::uint32_t>& sleeps) noexcept {
  return sleeps.load(std::memory_order_seq_cst) != 0 && sleeps.exchange(0, std::memory_order_seq_cst) != 0;
}

}  // namespace

std::optional<ring_result> ring_writer::write(std::span<const boost::asio::const_buffer> buffers) noexcept {
  ring_result done;
  std::uint64_t unpublished = written_;
  const auto publish = [&] {
    ring_->written.store(unpublished, std::memory_order_seq_cst);
    written_ = unpublished;
    done.wakes_other |= take_flag(ring_->reader_sleeps);
  };
  for (const boost::asio::const_buffer& buffer : buffers) {
    const auto* from = static_cast<const std::byte*>(buffer.data());
    for (std::size_t left = buffer.size(); left != 0;) {
      const std::uint64_t held = unpublished - ring_->taken.load(std::memory_order_acquire);
      if (held > ring_bytes) return std::nullopt;
      const std::size_t size =
          std::min({left, static_cast<std::size_t>(ring_bytes - held), until_end(unpublished), published_at_once});
      if (size == 0) {
        if (unpublished != written_) publish();
        return done;
      }
      copy_bytes(ring_->bytes + unpublished % ring_bytes, from, size);
      from += size;
      left -= size;
      unpublished += size;
      done.bytes += size;
      if (unpublished - written_ >= published_at_once) publish();
    }
  }
  if (unpublished != written_) publish();
  return done;
}

bool ring_writer::has_room() const noexcept {
  return written_ - ring_->taken.load(std::memory_order_acquire) != ring_bytes;
}

bool ring_writer::fall_asleep() noexcept {
  ring_->writer_sleeps.store(1, std::memory_order_seq_cst);
  if (written_ - ring_->taken.load(std::memory_order_seq_cst) == ring_bytes) return true;
  ring_->writer_sleeps.store(0, std::memory_order_relaxed);
  return false;
}

std::optional<ring_result> ring_reader::read(std::span<const boost::asio::mutable_buffer> buffers) noexcept {
  ring_result done;
  for (const boost::asio::mutable_buffer& buffer : buffers) {
    auto* to = static_cast<std::byte*>(buffer.data());
    for (std::size_t left = buffer.size(); left != 0;) {
      const std::uint64_t held = ring_->written.load(std::memory_order_acquire) - taken_;
      if (held > ring_bytes) return std::nullopt;
      const std::size_t size = std::min({left, static_cast<std::size_t>(held), until_end(taken_), published_at_once});
      if (size == 0) return done;
      copy_bytes(to, ring_->bytes + taken_ % ring_bytes, size);
      to += size;
      left -= size;
      taken_ += size;
      done.bytes += size;
      ring_->taken.store(taken_, std::memory_order_seq_cst);
      // What it holds still, as far as this end knows: there may be more, and then less room.
      if (held - size <= ring_bytes - room_to_wake_for) done.wakes_other |= take_flag(ring_->writer_sleeps);
    }
  }
  return done;
}

bool ring_reader::fall_asleep() noexcept {
  ring_->reader_sleeps.store(1, std::memory_order_seq_cst);
  if (ring_->written.load(std::memory_order_seq_cst) == taken_) return true;
  ring_->reader_sleeps.store(0, std::memory_order_relaxed);
  return false;
}

}  // namespace weft::detail
