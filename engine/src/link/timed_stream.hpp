// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "link/byte_source.hpp"
#include "link/byte_stream.hpp"
#include "link/handshake.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>

namespace weft::detail {

/// A connection being set up: what is under way, and what is tried later, fails once the deadline passes. To be used on
/// one strand, because the deadline strikes on it.
class timed_stream final : public byte_source {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  timed_stream(stream_socket socket, const boost::asio::any_io_executor& strand, time_point deadline);
  timed_stream(const timed_stream&) = delete;
  timed_stream& operator=(const timed_stream&) = delete;
  ~timed_stream();

  [[nodiscard]] stream_socket& socket() noexcept { return state_->socket; }
  [[nodiscard]] bool expired() const noexcept { return state_->expired; }

  boost::asio::awaitable<void> read(std::span<std::byte> bytes) override;
  boost::asio::awaitable<void> write(std::span<const std::byte> bytes);
  /// Ends what is under way, and all that is tried later.
  void close();
  /// The socket without a deadline.
  [[nodiscard]] stream_socket release();

 private:
  // Shared with the timer's handler, which may be on its way when the stream is gone.
  struct state {
    stream_socket socket;
    boost::asio::steady_timer timer;
    bool expired = false;
  };
  static void strike(const std::shared_ptr<state>& when);

  std::shared_ptr<state> state_;
};

/// Sends and receives for one side of a handshake until it is authenticated, done or failed.
template <class Side>
boost::asio::awaitable<handshake_status> carry_out(timed_stream& stream, Side& side, handshake_step step) {
  std::array<std::byte, 128> space;  // larger than every message of a handshake
  for (;;) {
    if (!step.output.empty()) co_await stream.write(step.output);
    if (step.status != handshake_status::receiving) co_return step.status;
    const auto input = std::span(space).first(step.bytes_wanted);
    co_await stream.read(input);
    step = side.received(input);
  }
}

}  // namespace weft::detail
