// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/buffer.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace weft::detail {

/// Bytes that a ring holds: as many as a core's second-level cache keeps at hand while they are copied in and out.
inline constexpr std::size_t ring_bytes = std::size_t{1} << 20;

/// One direction of a link in memory that two processes share, zero at first. Positions count all bytes ever written
/// and taken. The other process may write anything here at any time: nothing that is read from it is believed.
struct ring_memory {
  alignas(64) std::atomic<std::uint64_t> written;
  alignas(64) std::atomic<std::uint64_t> taken;
  alignas(64) std::atomic<std::uint32_t> reader_sleeps;  ///< and is to be woken when there are bytes
  alignas(64) std::atomic<std::uint32_t> writer_sleeps;  ///< and is to be woken when there is room
  alignas(64) std::byte bytes[ring_bytes];
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "a lock would be another process's");

/// What one call has done.
struct ring_result {
  std::size_t bytes = 0;
  bool wakes_other = false;  ///< the other end sleeps, and is to be told
};

/// The end of a ring that writes; wait-free. One thread at a time.
class ring_writer {
 public:
  explicit ring_writer(ring_memory& ring) noexcept : ring_(&ring) {}

  /// Copies what there is room for. Nothing: the positions are not of a ring that works.
  [[nodiscard]] std::optional<ring_result> write(std::span<const boost::asio::const_buffer> buffers) noexcept;

  [[nodiscard]] bool has_room() const noexcept;
  /// Asks to be woken when there is room; false where there is some already.
  [[nodiscard]] bool fall_asleep() noexcept;

 private:
  ring_memory* ring_;
  std::uint64_t written_ = 0;
};

/// The end of a ring that reads; wait-free. One thread at a time.
class ring_reader {
 public:
  explicit ring_reader(ring_memory& ring) noexcept : ring_(&ring) {}

  /// Copies what is there. Nothing: the positions are not of a ring that works.
  [[nodiscard]] std::optional<ring_result> read(std::span<const boost::asio::mutable_buffer> buffers) noexcept;

  [[nodiscard]] bool has_input() const noexcept { return ring_->written.load(std::memory_order_acquire) != taken_; }
  /// Asks to be woken when there is input; false where there is some already.
  [[nodiscard]] bool fall_asleep() noexcept;
  /// It is awake: the other end need not tell it of anything.
  void wake() noexcept { ring_->reader_sleeps.store(0, std::memory_order_relaxed); }

 private:
  ring_memory* ring_;
  std::uint64_t taken_ = 0;
};

}  // namespace weft::detail
