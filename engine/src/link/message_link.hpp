// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "growing_ring.hpp"
#include "link/byte_stream.hpp"
#include "link/message_input.hpp"
#include "link/shared_memory.hpp"
#include "memory_cursor.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

namespace weft::detail {

class message_link;

/// Appends a message as it goes over a link: header, body, and `payload_bytes` from `payload`.
void append_message(std::vector<std::byte>& out, std::uint8_t type, std::span<const std::byte> body,
                    memory_cursor payload = {}, std::size_t payload_bytes = 0);

/// Who uses a link. Every call comes between `begin_turn` and `end_turn`, which are where an owner with several threads
/// takes and releases its lock, and where it does what a turn has made ready.
class link_owner {
 public:
  virtual void begin_turn() = 0;
  virtual void end_turn() = 0;

  /// A message, valid during the call. False: it is malformed, and the link is closed for it.
  virtual bool on_message(message_link& link, std::uint8_t type, std::span<const std::byte> body) = 0;
  /// A link over shared memory has nothing to read, and would go to sleep: true where the owner has it do so later.
  virtual bool watches(message_link&) { return false; }
  /// The raw bytes asked for by `read_raw` have arrived.
  virtual void on_raw_read(message_link&, std::uint64_t /*job*/, std::uint64_t /*bytes*/) {}
  /// The payload given to `stream` has been taken whole.
  virtual void on_streamed(message_link&, std::uint64_t /*job*/) {}
  /// The link is no more. Not called for a link that its owner closed.
  virtual void on_link_closed(message_link& link, boost::system::error_code code) = 0;

 protected:
  ~link_owner() = default;
};

/// Messages between two processes over an authenticated stream. Small messages are copied and coalesced: what is
/// appended in one turn leaves in one write. Large payloads are read and written in place, in pieces, between which
/// small messages go first.
///
/// Shared by its owner and its pending waits, because a wait may end after the owner has dropped the link.
class message_link final : public std::enable_shared_from_this<message_link>, private input_events {
 public:
  /// `keep_owner` keeps the owner alive while a wait is pending; null where the owner outlives the link's executor.
  /// `peer` is the rank at the other end.
  message_link(stream_socket socket, int peer, link_owner& owner, std::shared_ptr<void> keep_owner,
               std::optional<shared_rings> rings = std::nullopt);

  [[nodiscard]] int peer() const noexcept { return peer_; }

  /// Begins to read. Not in the constructor, which cannot share the object.
  void start();

  /// Copies a message to the output; it leaves with the next `flush`.
  template <class Body>
  requires std::is_trivially_copyable_v<Body>
  void append(std::uint8_t type, const Body& body) { append_bytes(type, std::as_bytes(std::span(&body, 1))); }
  /// The same with a payload of `payload_bytes` behind the body.
  void append_bytes(std::uint8_t type, std::span<const std::byte> body, memory_cursor payload = {},
                    std::size_t payload_bytes = 0) {
    append_message(waiting_, type, body, payload, payload_bytes);
  }
  /// Puts messages that waited for this link before all others.
  void adopt(std::vector<std::byte> messages) { waiting_.insert(waiting_.begin(), messages.begin(), messages.end()); }

  /// Sends `bytes` from `payload` in pieces, each announced by a `data` message to receive `target`. The memory must
  /// stay until `on_streamed(job)` or the end of the link.
  void stream(std::uint64_t job, std::uint64_t target, memory_cursor payload, std::uint64_t bytes);

  /// As of `message_input`.
  void expect_raw() noexcept { input_.expect_raw(); }
  /// From within `on_message`, as `message_input::read_raw`.
  void read_raw(std::uint64_t job, memory_cursor target, std::uint64_t bytes) { input_.read_raw(job, target, bytes); }

  /// Writes what there is room for now and waits for the rest.
  void flush();

  /// For an owner that watches a link over shared memory (`link_owner::watches`) instead of letting it sleep, within
  /// its turns: whether there is something to do, to do it, and to sleep after all.
  /// @{
  [[nodiscard]] bool has_news() const noexcept;
  void look();
  void sleep();
  /// @}
  /// The other end was asleep when this one last wrote, and has said nothing since.
  [[nodiscard]] bool woke_other() const noexcept { return woke_other_; }

  [[nodiscard]] bool has_output() const noexcept;
  [[nodiscard]] bool is_open() const noexcept { return socket_.is_open(); }
  /// Drops what is unsent, calls nobody.
  void close() noexcept;

 private:
  struct stream_job {
    std::uint64_t job;
    std::uint64_t target;
    memory_cursor payload;
    std::uint64_t bytes;
  };

  // input_events
  bool takes_input() const noexcept override { return is_open(); }
  bool on_input(std::uint8_t type, std::span<const std::byte> body) override {
    return owner_.on_message(*this, type, body);
  }
  void on_raw_input(std::uint64_t job, std::uint64_t bytes) override { owner_.on_raw_read(*this, job, bytes); }

  void wait_readable();
  void wait_writable();
  /// A handler that takes `step` in a turn of the owner's, unless what was awaited has failed.
  template <class Step>
  [[nodiscard]] auto in_turn(Step step);
  void await_wake_up();
  void await_end();
  void look_again();
  template <class Buffers>
  [[nodiscard]] io_result read_some(const Buffers& buffers);
  template <class Buffers>
  [[nodiscard]] io_result write_some(const Buffers& buffers);
  void read_turn();
  [[nodiscard]] std::optional<std::size_t> read_piece();
  [[nodiscard]] std::optional<std::size_t> write_piece();
  void prepare_piece();
  void wrote(std::size_t bytes);
  void stop_writing() noexcept;
  void fail(boost::system::error_code code);

  stream_socket socket_;
  std::optional<shared_rings> rings_;  ///< carry everything, and the socket only its end
  std::uint64_t wake_ups_ = 0;         ///< what the event says
  bool awaits_wake_up_ = false;
  bool woke_other_ = false;
  bool looks_again_ = false;  ///< it is about to
  bool other_has_ended_ = false;
  int peer_;
  link_owner& owner_;
  std::shared_ptr<void> keep_owner_;

  message_input input_{*this};

  // Output: messages that wait, those being written, and the piece of payload that belongs behind them.
  std::vector<std::byte> waiting_;
  std::vector<std::byte> writing_;
  std::size_t written_ = 0;
  growing_ring<stream_job> streams_;
  bool piece_active_ = false;
  std::uint64_t piece_remaining_ = 0;
  std::vector<boost::asio::const_buffer> write_buffers_;
  bool waiting_writable_ = false;
  bool takes_output_ = true;
};

}  // namespace weft::detail
