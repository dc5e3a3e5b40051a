// SPDX-License-Identifier: Apache-2.0
#include "device/host/host_channel.hpp"

#include <weft/engine/error.hpp>

#include <algorithm>
#include <utility>

namespace weft::detail {
namespace {

// A channel gives way to others after that much.
constexpr std::size_t turn_bytes = std::size_t{4} << 20;
constexpr std::size_t call_bytes = std::size_t{1} << 20;

}  // namespace

void host_channel::connect(shared_connection made) {
  made_.emplace(std::move(made));
  if (made_->rings) await_end();
}

void host_channel::add(group_id group, std::size_t index, const device_transfer& transfer) {
  parts_.push_back({group, index, memory_cursor(transfer.memory.pieces), transfer.bytes});
}

void host_channel::progress() {
  const auto alive = shared_from_this();
  if (failure_) {
    while (!parts_.empty()) finish_front(*failure_);
    return;
  }
  std::size_t budget = turn_bytes / call_bytes;
  while (!parts_.empty()) {
    if (parts_.front().remaining == 0) {
      finish_front({});
    } else if (waiting_) {
      return;
    } else if (budget-- == 0 || !move_some()) {
      return wait();
    }
    if (failure_) return;
  }
}

// True while there may be more to move.
bool host_channel::move_some() {
  part& front = parts_.front();
  const std::size_t bytes = std::min<std::uint64_t>(front.remaining, call_bytes);
  const io_result result = sending_ ? write_some(front, bytes) : read_some(front, bytes);
  if (result.code) {
    // The other end closed: it is lost, or it has aborted the communicator. Whichever it is, this rank is about to hear
    // it, and may launch more until then.
    fail(errc::transfer_aborted, errc::transfer_aborted);
    return false;
  }
  front.at.advance(result.bytes);
  front.remaining -= result.bytes;
  return !result.would_block;
}

io_result host_channel::write_some(part& from, std::size_t bytes) {
  write_buffers_.clear();
  from.at.gather(write_buffers_, bytes, most_buffers);
  if (!made_->rings) return write_now(made_->socket, write_buffers_);
  return made_->rings->write(write_buffers_, other_has_ended_);
}

io_result host_channel::read_some(part& to, std::size_t bytes) {
  read_buffers_.clear();
  to.at.gather(read_buffers_, bytes, most_buffers);
  if (!made_->rings) return read_now(made_->socket, read_buffers_);
  return made_->rings->read(read_buffers_, other_has_ended_);
}

void host_channel::finish_front(boost::system::error_code code) {
  const part done = parts_.front();
  parts_.pop_front();
  events_.on_transfer_done(communicator_, done.group, done.index, code);
}

void host_channel::fail(boost::system::error_code launched, boost::system::error_code later) {
  if (failure_) return;
  failure_ = later;
  made_.reset();
  const auto alive = shared_from_this();
  while (!parts_.empty()) finish_front(launched);
}

// ---- waiting

void host_channel::go_on() {
  waiting_ = false;
  if (made_ && made_->rings && !sending_) made_->rings->reader().wake();
  progress();
}

auto host_channel::going_on() {
  return [weak = weak_from_this()](const boost::system::error_code& code = {}) {
    const auto self = weak.lock();
    if (!code && self) self->go_on();
  };
}

void host_channel::wait() {
  if (failure_ || waiting_) return;
  waiting_ = true;
  if (made_->rings) return events_.on_ring_wait(*this);
  made_->socket.async_wait(sending_ ? stream_socket::wait_write : stream_socket::wait_read, going_on());
}

bool host_channel::has_news() const noexcept {
  if (!made_ || !waiting_) return false;
  return other_has_ended_ || (sending_ ? made_->rings->writer().has_room() : made_->rings->reader().has_input());
}

bool host_channel::fall_asleep() {
  if (!made_ || !waiting_) return true;
  if (!std::exchange(awaits_wake_up_, true))
    made_->rings->wake_up().async_read_some(boost::asio::buffer(&wake_ups_, sizeof wake_ups_),
                                            [weak = weak_from_this(), go_on = going_on()](const auto& code, auto) {
                                              if (const auto self = weak.lock()) self->awaits_wake_up_ = false;
                                              go_on(code);
                                            });
  return sending_ ? made_->rings->writer().fall_asleep() : made_->rings->reader().fall_asleep();
}

// Nothing is said on the socket beside a ring: when it can be read, the other end is gone.
void host_channel::await_end() {
  made_->socket.async_wait(stream_socket::wait_read,
                           [weak = weak_from_this(), go_on = going_on()](const boost::system::error_code& code) {
                             const auto self = weak.lock();
                             if (code || !self || !self->made_) return;
                             if (!is_readable(self->made_->socket)) return self->await_end();
                             self->other_has_ended_ = true;
                             go_on();
                           });
}

}  // namespace weft::detail
