// SPDX-License-Identifier: Apache-2.0
#include "link/byte_ring.hpp"

#include <algorithm>
#include <cstring>

namespace weft::detail {
namespace {

// What is copied before the other end hears of it: large messages are copied in and out at the same time.
constexpr std::size_t published_at_once = std::size_t{128} << 10;
// A writer that waits is woken for that much room, not for each byte: waking costs as much as copying some of it.
constexpr std::size_t room_to_wake_for = ring_bytes / 4;

// Where a copy goes a few bytes further within its page than it comes from, the processor takes what it has just
// written for what it is about to read, and glibc's copy of long ranges (rep movsb) takes four times as long: 24 ms
// instead of 6 for 64 MiB, measured through a ring of 1 MiB. Not so its copy of short ones.
constexpr std::uintptr_t page = 4'096;
constexpr std::uintptr_t too_close = 64;
constexpr std::size_t short_copy = 2'048;

void copy_bytes(std::byte* to, const std::byte* from, std::size_t size) noexcept {
  const std::uintptr_t ahead = (reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from)) % page;
  const bool stumbles = ahead != 0 && ahead < too_close;
  for (std::size_t step = 0; size != 0; size -= step, to += step, from += step) {
    step = stumbles ? std::min(size, short_copy) : size;
    std::memcpy(to, from, step);
  }
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
