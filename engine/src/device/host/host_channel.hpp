// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/device.hpp"
#include "link/byte_stream.hpp"

#include <boost/system/error_code.hpp>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace weft::detail {

/// Told of each transfer that a channel ends.
class channel_events {
 public:
  virtual void on_transfer_done(communicator_id communicator, group_id group, std::size_t index,
                                boost::system::error_code code) = 0;

 protected:
  ~channel_events() = default;
};

/// One direction between two ranks on one communicator: a stream of nothing but payload, because both ends know from
/// the log what comes in which order. Transfers end in the order in which they were added.
class host_channel : public std::enable_shared_from_this<host_channel> {
 public:
  host_channel(communicator_id communicator, bool sending, channel_events& events)
      : communicator_(communicator), sending_(sending), events_(events) {}

  void connect(stream_socket socket) { socket_.emplace(std::move(socket)); }
  [[nodiscard]] bool is_connected() const noexcept { return socket_.has_value(); }
  [[nodiscard]] bool has_failed() const noexcept { return failure_.has_value(); }

  void add(group_id group, std::size_t index, const device_transfer& transfer);
  /// Moves what can be moved now and waits for the rest.
  void progress();
  /// Every transfer here ends with `launched`; every later one with `later`.
  void fail(boost::system::error_code launched, boost::system::error_code later);

 private:
  struct part {
    group_id group;
    std::size_t index;
    memory_cursor at;
    std::uint64_t remaining;
  };

  [[nodiscard]] bool move_some();
  void finish_front(boost::system::error_code code);
  void wait();

  communicator_id communicator_;
  bool sending_;
  channel_events& events_;
  std::optional<stream_socket> socket_;
  std::optional<boost::system::error_code> failure_;
  std::deque<part> parts_;
  bool waiting_ = false;
  std::vector<boost::asio::const_buffer> write_buffers_;
  std::vector<boost::asio::mutable_buffer> read_buffers_;
};

}  // namespace weft::detail
