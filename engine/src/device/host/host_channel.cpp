// SPDX-License-Identifier: Apache-2.0
#include "device/host/host_channel.hpp"

#include <weft/engine/error.hpp>

namespace weft::detail {
namespace {

// A channel gives way to others after that much.
constexpr std::size_t turn_bytes = std::size_t{4} << 20;
constexpr std::size_t call_bytes = std::size_t{1} << 20;

}  // namespace

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
  io_result result;
  if (sending_) {
    write_buffers_.clear();
    front.at.gather(write_buffers_, std::min<std::uint64_t>(front.remaining, call_bytes), most_buffers);
    result = write_now(*socket_, write_buffers_);
  } else {
    read_buffers_.clear();
    front.at.gather(read_buffers_, std::min<std::uint64_t>(front.remaining, call_bytes), most_buffers);
    result = read_now(*socket_, read_buffers_);
  }
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

void host_channel::finish_front(boost::system::error_code code) {
  const part done = parts_.front();
  parts_.pop_front();
  events_.on_transfer_done(communicator_, done.group, done.index, code);
}

void host_channel::fail(boost::system::error_code launched, boost::system::error_code later) {
  if (failure_) return;
  failure_ = later;
  socket_.reset();
  const auto alive = shared_from_this();
  while (!parts_.empty()) finish_front(launched);
}

void host_channel::wait() {
  if (failure_ || waiting_) return;
  waiting_ = true;
  socket_->async_wait(sending_ ? stream_socket::wait_write : stream_socket::wait_read,
                      [self = shared_from_this()](const boost::system::error_code& code) {
                        self->waiting_ = false;
                        if (!code) self->progress();
                      });
}

}  // namespace weft::detail
