// SPDX-License-Identifier: Apache-2.0
#include "link/message_link.hpp"

#include "protocol/messages.hpp"

#include <weft/engine/error.hpp>

#include <boost/asio/post.hpp>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <utility>

namespace weft::detail {
namespace {

using protocol::message_header;

// A piece of payload: small messages wait no longer than it takes to write one.
constexpr std::uint64_t piece_bytes = std::uint64_t{256} << 10;

/// A turn of a link ends after so much, so that one busy link does not hold the loop.
class turn_budget {
 public:
  /// With the clock: from the beginning, or only once much has been moved. (Small messages do without it.)
  explicit turn_budget(bool is_measured)
      : is_measured_(is_measured), began_(is_measured ? clock::now() : clock::time_point()) {}

  /// Whether there may be another step, after one of that many bytes.
  [[nodiscard]] bool allows_more_after(std::size_t bytes) {
    moved_ += bytes;
    if (moved_ >= most_bytes) return false;
    if (moved_ < unmeasured_bytes) return true;
    const auto now = clock::now();
    if (!std::exchange(is_measured_, true)) began_ = now;
    return now - began_ < longest;
  }

 private:
  using clock = std::chrono::steady_clock;
  static constexpr std::size_t most_bytes = std::size_t{1} << 20;
  static constexpr std::size_t unmeasured_bytes = std::size_t{64} << 10;
  // Memory that is touched for the first time takes many times as long to fill.
  static constexpr std::chrono::microseconds longest{100};

  std::size_t moved_ = 0;
  bool is_measured_;
  clock::time_point began_;
};

}  // namespace

void append_message(std::vector<std::byte>& out, std::uint8_t type, std::span<const std::byte> body,
                    memory_cursor payload, std::size_t payload_bytes) {
  const message_header header{
      static_cast<protocol::message_type>(type), {}, static_cast<std::uint32_t>(body.size() + payload_bytes)};
  const std::size_t at = out.size();
  out.resize(at + sizeof header + body.size() + payload_bytes);
  std::byte* to = out.data() + at;
  std::memcpy(to, &header, sizeof header);
  if (!body.empty()) std::memcpy(to + sizeof header, body.data(), body.size());
  payload.read(to + sizeof header + body.size(), payload_bytes);
}

message_link::message_link(stream_socket socket, int peer, link_owner& owner, std::shared_ptr<void> keep_owner,
                           std::optional<shared_rings> rings)
    : socket_(std::move(socket)),
      rings_(std::move(rings)),
      peer_(peer),
      owner_(owner),
      keep_owner_(std::move(keep_owner)) {}

void message_link::start() {
  if (rings_) await_end();
  wait_readable();
}

void message_link::stream(std::uint64_t job, std::uint64_t target, memory_cursor payload, std::uint64_t bytes) {
  streams_.push_back({job, target, payload, bytes});
}

bool message_link::has_output() const noexcept {
  return !waiting_.empty() || !writing_.empty() || piece_active_ || !streams_.empty();
}

void message_link::close() noexcept {
  boost::system::error_code ignored;
  socket_.close(ignored);
  if (rings_) rings_->wake_up().close(ignored);
  streams_.clear();
}

void message_link::fail(boost::system::error_code code) {
  if (!is_open()) return;
  close();
  owner_.on_link_closed(*this, code);
}

template <class Step>
auto message_link::in_turn(Step step) {
  return [self = shared_from_this(), keep = keep_owner_, step](const boost::system::error_code& code = {},
                                                               std::size_t = 0) {
    if (code) return;
    self->owner_.begin_turn();
    step(*self);
    self->owner_.end_turn();
  };
}

// ---- over shared memory

bool message_link::has_news() const noexcept {
  if (!is_open()) return false;
  return rings_->reader().has_input() || (waiting_writable_ && rings_->writer().has_room());
}

void message_link::look() {
  if (!is_open()) return;
  rings_->reader().wake();
  if (waiting_writable_ && rings_->writer().has_room()) {
    waiting_writable_ = false;
    flush();
  }
  if (is_open()) read_turn();
}

void message_link::sleep() {
  if (!is_open()) return;
  const bool reader_sleeps = rings_->reader().fall_asleep();
  const bool writer_sleeps = !waiting_writable_ || rings_->writer().fall_asleep();
  if (!reader_sleeps || !writer_sleeps || other_has_ended_) look_again();
}

// The executor has its turn in between.
void message_link::look_again() {
  if (std::exchange(looks_again_, true)) return;
  boost::asio::post(socket_.get_executor(), in_turn([](message_link& self) {
                      self.looks_again_ = false;
                      self.look();
                    }));
}

void message_link::await_wake_up() {
  if (std::exchange(awaits_wake_up_, true)) return;
  rings_->wake_up().async_read_some(boost::asio::buffer(&wake_ups_, sizeof wake_ups_), in_turn([](message_link& self) {
                                      self.awaits_wake_up_ = false;
                                      self.look();
                                    }));
}

// Nothing is said on the socket any more: when it can be read, it has ended, or its other end breaks the rules.
void message_link::await_end() {
  socket_.async_wait(stream_socket::wait_read, in_turn([](message_link& self) {
                       if (!self.is_open()) return;
                       if (!is_readable(self.socket_)) return self.await_end();
                       self.other_has_ended_ = true;
                       self.look();
                     }));
}

template <class Buffers>
io_result message_link::read_some(const Buffers& buffers) {
  if (!rings_) return read_now(socket_, buffers);
  return rings_->read(buffers, other_has_ended_);
}

template <class Buffers>
io_result message_link::write_some(const Buffers& buffers) {
  if (!rings_) return write_now(socket_, buffers);
  const rings_result result = rings_->write(buffers, other_has_ended_);
  if (result.woke_other) woke_other_ = true;
  return result;
}

// ---- reading

void message_link::wait_readable() {
  if (!is_open()) return;
  if (rings_) {
    await_wake_up();
    const bool is_watched = owner_.watches(*this);
    woke_other_ = false;
    if (!is_watched) sleep();
    return;
  }
  socket_.async_wait(stream_socket::wait_read, in_turn([](message_link& self) {
                       if (self.is_open()) self.read_turn();
                     }));
}

void message_link::read_turn() {
  const auto alive = shared_from_this();  // a message may make the owner drop the link
  for (turn_budget budget(input_.reads_raw()); is_open();) {
    const auto bytes = read_piece();
    if (!bytes || !budget.allows_more_after(*bytes)) break;
  }
  wait_readable();
}

// How much it was, while there may be more.
std::optional<std::size_t> message_link::read_piece() {
  const std::vector<boost::asio::mutable_buffer>& room = input_.room();
  const std::size_t space = boost::asio::buffer_size(room);
  const io_result result = read_some(room);
  if (result.code) {
    fail(result.code);
    return std::nullopt;
  }
  if (result.would_block) return std::nullopt;
  if (!input_.arrived(result.bytes)) {
    fail(errc::malformed_message);
    return std::nullopt;
  }
  return result.bytes == space || input_.reads_raw() ? std::optional(result.bytes) : std::nullopt;
}

// ---- writing

void message_link::flush() {
  if (!takes_output_) return stop_writing();
  if (!is_open() || waiting_writable_) return;
  const auto alive = shared_from_this();
  for (turn_budget budget(piece_active_); has_output();) {
    const auto bytes = write_piece();
    if (!bytes) return;
    if (!budget.allows_more_after(*bytes)) break;
  }
  if (has_output() && is_open()) wait_writable();
}

void message_link::wait_writable() {
  waiting_writable_ = true;
  if (rings_) {
    await_wake_up();
    if (!rings_->writer().fall_asleep()) look_again();
    return;
  }
  socket_.async_wait(stream_socket::wait_write, in_turn([](message_link& self) {
                       self.waiting_writable_ = false;
                       self.flush();
                     }));
}

// How much it was, while the link takes more.
std::optional<std::size_t> message_link::write_piece() {
  if (writing_.empty() && !piece_active_) prepare_piece();
  write_buffers_.clear();
  if (!writing_.empty()) write_buffers_.emplace_back(writing_.data() + written_, writing_.size() - written_);
  if (piece_active_) streams_.front().payload.gather(write_buffers_, piece_remaining_, most_buffers);
  const io_result result = write_some(write_buffers_);
  if (result.code) {
    stop_writing();
    return std::nullopt;
  }
  wrote(result.bytes);
  if (!result.would_block) return result.bytes;
  wait_writable();
  return std::nullopt;
}

// The other end has closed. What it said before, perhaps that it leaves, may still have to be read: the end of the link
// is what reading finds.
void message_link::stop_writing() noexcept {
  takes_output_ = false;
  waiting_.clear();
  writing_.clear();
  written_ = 0;
  streams_.clear();
  piece_active_ = false;
}

void message_link::prepare_piece() {
  std::swap(waiting_, writing_);
  written_ = 0;
  if (streams_.empty()) return;
  stream_job& next = streams_.front();
  piece_active_ = true;
  piece_remaining_ = std::min(next.bytes, piece_bytes);
  const protocol::data body{next.target, piece_remaining_};
  const message_header header{protocol::message_type::data, {}, sizeof body};
  const std::size_t at = writing_.size();
  writing_.resize(at + sizeof header + sizeof body);
  std::memcpy(writing_.data() + at, &header, sizeof header);
  std::memcpy(writing_.data() + at + sizeof header, &body, sizeof body);
}

void message_link::wrote(std::size_t bytes) {
  const std::size_t small = std::min(bytes, writing_.size() - written_);
  written_ += small;
  if (written_ < writing_.size()) return;
  writing_.clear();
  written_ = 0;
  if (!piece_active_) return;
  stream_job& current = streams_.front();
  const std::uint64_t large = bytes - small;
  current.payload.advance(large);
  current.bytes -= large;
  piece_remaining_ -= large;
  if (piece_remaining_ != 0) return;
  piece_active_ = false;
  const stream_job done = current;
  streams_.pop_front();
  if (done.bytes != 0)
    streams_.push_back(done);  // the others take their turns
  else
    owner_.on_streamed(*this, done.job);
}

}  // namespace weft::detail
