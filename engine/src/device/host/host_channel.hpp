// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/device.hpp"
#include "link/shared_memory.hpp"

#include <boost/system/error_code.hpp>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace weft::detail {

class host_channel;

/// What a channel tells the device.
class channel_events {
 public:
  /// A transfer has ended.
  virtual void on_transfer_done(communicator_id communicator, group_id group, std::size_t index,
                                boost::system::error_code code) = 0;
  /// A channel over shared memory waits: it is to be looked at, and goes on where it `has_news`. Where there is none
  /// for a while it is to sleep.
  virtual void on_ring_wait(host_channel& channel) = 0;

 protected:
  ~channel_events() = default;
};

/// One direction between two ranks on one communicator: a stream of nothing but payload, because both ends know from
/// the log what comes in which order. Transfers end in the order in which they were added.
class host_channel : public std::enable_shared_from_this<host_channel> {
 public:
  host_channel(communicator_id communicator, bool sending, channel_events& events)
      : communicator_(communicator), sending_(sending), events_(events) {}

  void connect(shared_connection made);
  [[nodiscard]] bool is_connected() const noexcept { return made_.has_value(); }
  [[nodiscard]] bool has_failed() const noexcept { return failure_.has_value(); }

  void add(group_id group, std::size_t index, const device_transfer& transfer);
  /// Moves what can be moved now and waits for the rest.
  void progress();
  /// Of a channel that waits for its ring: whether there is something to do, to do it, and to have itself woken
  /// instead, which is false where there is something already.
  /// @{
  [[nodiscard]] bool has_news() const noexcept;
  void go_on();
  [[nodiscard]] bool fall_asleep();
  /// @}
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
  [[nodiscard]] io_result write_some(part& from, std::size_t bytes);
  [[nodiscard]] io_result read_some(part& to, std::size_t bytes);
  void finish_front(boost::system::error_code code);
  void wait();
  void await_end();
  /// A handler that goes on, unless the channel is gone or what was awaited has failed.
  [[nodiscard]] auto going_on();

  communicator_id communicator_;
  bool sending_;
  channel_events& events_;
  std::optional<shared_connection> made_;
  std::optional<boost::system::error_code> failure_;
  std::deque<part> parts_;
  bool waiting_ = false;
  bool awaits_wake_up_ = false;
  std::uint64_t wake_ups_ = 0;  ///< what the ring's event says
  bool other_has_ended_ = false;
  std::vector<boost::asio::const_buffer> write_buffers_;
  std::vector<boost::asio::mutable_buffer> read_buffers_;
};

}  // namespace weft::detail
