// SPDX-License-Identifier: Apache-2.0
#include "link/message_input.hpp"

#include "link/byte_stream.hpp"

#include "protocol/messages.hpp"

#include <algorithm>
#include <cstring>

namespace weft::detail {
namespace {

using protocol::message_header;

// A message is a body of at most a few kilobytes, or an announcement with its inline payload. One that is not whole
// must fit beside what the next read brings.
constexpr std::size_t largest_body = read_space / 2 - sizeof(message_header);

// Of a large payload, so that the link can look at the clock in between: to fill so much memory that is touched for the
// first time has been seen to take 180 us.
constexpr std::uint64_t largest_step = std::uint64_t{64} << 10;

// Payload that is read in one go with messages is copied twice. So where payload is expected little is read at a time,
// and between its pieces no more than the message that says how long the next one is.
constexpr std::size_t before_raw = std::size_t{4} << 10;
constexpr std::size_t between_raw = 64;

// Shared by all links of a thread, because it is empty between turns.
std::span<std::byte> read_scratch() {
  thread_local std::vector<std::byte> space(read_space);
  return space;
}

}  // namespace

const std::vector<boost::asio::mutable_buffer>& message_input::room() {
  const std::span<std::byte> scratch = read_scratch();
  room_.clear();
  direct_ = 0;
  // The bytes of a large payload go where they belong without a stop in between.
  if (raw_active_) direct_ = raw_target_.gather(room_, std::min(raw_remaining_, largest_step), most_buffers);
  std::copy(partial_.begin(), partial_.end(), scratch.begin());
  const std::span<std::byte> rest = scratch.subspan(partial_.size());
  if (direct_ == 0)
    room_.emplace_back(rest.data(), expects_raw_ ? std::min(rest.size(), before_raw) : rest.size());
  else if (direct_ == raw_remaining_)
    room_.emplace_back(rest.data(), between_raw);
  return room_;
}

bool message_input::arrived(std::size_t bytes) {
  const std::size_t kept = partial_.size();
  const std::size_t in_place = std::min(direct_, bytes);
  if (in_place != 0) {
    raw_target_.advance(in_place);
    raw_remaining_ -= in_place;
    if (raw_remaining_ == 0) finish_raw();
  }
  partial_.clear();
  return consume(read_scratch().first(kept + bytes - in_place));
}

bool message_input::consume(std::span<const std::byte> bytes) {
  while (events_.takes_input()) {
    if (raw_active_) {
      bytes = bytes.subspan(consume_raw(bytes));
      if (raw_active_) return true;
    }
    if (bytes.size() < sizeof(message_header)) break;
    message_header header;
    std::memcpy(&header, bytes.data(), sizeof header);
    if (header.body_bytes > largest_body) return false;
    const std::size_t whole = sizeof header + header.body_bytes;
    if (bytes.size() < whole) break;
    const auto body = bytes.subspan(sizeof header, header.body_bytes);
    bytes = bytes.subspan(whole);
    if (!events_.on_input(static_cast<std::uint8_t>(header.type), body)) return false;
  }
  partial_.assign(bytes.begin(), bytes.end());
  return true;
}

void message_input::read_raw(std::uint64_t job, memory_cursor target, std::uint64_t bytes) {
  raw_active_ = true;
  expects_raw_ = false;
  raw_job_ = job;
  raw_bytes_ = bytes;
  raw_remaining_ = bytes;
  raw_target_ = target;
}

std::size_t message_input::consume_raw(std::span<const std::byte> bytes) {
  const std::size_t taken = std::min<std::uint64_t>(raw_remaining_, bytes.size());
  raw_target_.write(bytes.data(), taken);
  raw_remaining_ -= taken;
  if (raw_remaining_ == 0) finish_raw();
  return taken;
}

void message_input::finish_raw() {
  raw_active_ = false;
  raw_target_ = {};
  events_.on_raw_input(raw_job_, raw_bytes_);
}

}  // namespace weft::detail
