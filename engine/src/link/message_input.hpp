// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "memory_cursor.hpp"

#include <boost/asio/buffer.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weft::detail {

/// What one read may bring, bytes.
inline constexpr std::size_t read_space = std::size_t{256} << 10;

/// Who is told what has arrived.
class input_events {
 public:
  /// Nothing more is to be told once this is false.
  [[nodiscard]] virtual bool takes_input() const noexcept = 0;
  /// A message, valid during the call. False: it is malformed.
  virtual bool on_input(std::uint8_t type, std::span<const std::byte> body) = 0;
  /// The raw bytes asked for by `message_input::read_raw` have arrived.
  virtual void on_raw_input(std::uint64_t job, std::uint64_t bytes) = 0;

 protected:
  ~input_events() = default;
};

/// Takes apart the bytes of a link, which come in pieces of any size: messages, and raw bytes between them. No I/O:
/// whoever reads puts the bytes into `room`, and says how many came.
class message_input {
 public:
  explicit message_input(input_events& events) noexcept : events_(events) {}

  /// Where the next bytes go: first to where raw bytes under way belong, then to space that is shared by all inputs of
  /// a thread. Valid until `arrived`, or until another input is asked.
  [[nodiscard]] const std::vector<boost::asio::mutable_buffer>& room();
  /// So many bytes were put into `room`. False: what has arrived is no sequence of messages.
  [[nodiscard]] bool arrived(std::size_t bytes);

  /// From within `on_input`: the `bytes` that follow are no messages. They go to `target` as far as it reaches, and are
  /// dropped beyond.
  void read_raw(std::uint64_t job, memory_cursor target, std::uint64_t bytes);
  [[nodiscard]] bool reads_raw() const noexcept { return raw_active_; }
  /// Large payload was asked for, and is on its way: a hint.
  void expect_raw() noexcept { expects_raw_ = true; }

 private:
  [[nodiscard]] bool consume(std::span<const std::byte> bytes);
  [[nodiscard]] std::size_t consume_raw(std::span<const std::byte> bytes);
  void finish_raw();

  input_events& events_;
  std::vector<std::byte> partial_;  ///< the beginning of a message that has not arrived whole
  std::vector<boost::asio::mutable_buffer> room_;
  std::size_t direct_ = 0;  ///< bytes of `room_` that lie where raw bytes belong
  bool raw_active_ = false;
  bool expects_raw_ = false;
  std::uint64_t raw_job_ = 0;
  std::uint64_t raw_bytes_ = 0;
  std::uint64_t raw_remaining_ = 0;
  memory_cursor raw_target_;
};

}  // namespace weft::detail
