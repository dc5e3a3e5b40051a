// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "link/byte_ring.hpp"
#include "link/byte_stream.hpp"
#include "link/timed_stream.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace weft::detail {

/// A descriptor that is closed with its owner.
class owned_descriptor {
 public:
  owned_descriptor() = default;
  explicit owned_descriptor(int descriptor) noexcept : descriptor_(descriptor) {}
  owned_descriptor(owned_descriptor&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  owned_descriptor& operator=(owned_descriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~owned_descriptor();

  [[nodiscard]] int get() const noexcept { return descriptor_; }
  [[nodiscard]] int release() noexcept { return std::exchange(descriptor_, -1); }

 private:
  int descriptor_ = -1;
};

/// Two rings in one piece of anonymous memory, which is gone with the last process that has it.
struct ring_pair;

/// Undoes the mapping.
struct unmap_rings {
  void operator()(ring_pair* rings) const noexcept;
};

/// What a read from rings or a write to them did.
struct rings_result : io_result {
  bool woke_other = false;
};

/// One end of a link over shared memory: a ring to each side, and a way to wake who sleeps.
class shared_rings {
 public:
  /// `first`: this end made the memory, and writes to the first ring of it.
  shared_rings(std::unique_ptr<ring_pair, unmap_rings> memory, bool first, owned_descriptor wakes_me,
               owned_descriptor wakes_other, const boost::asio::any_io_executor& executor);

  /// As `read_now` and `write_now` of a socket; the other end is woken where it sleeps. Once it has ended, what it
  /// wrote before is still read, and nothing more written.
  /// @{
  [[nodiscard]] rings_result read(std::span<const boost::asio::mutable_buffer> buffers, bool other_has_ended) noexcept;
  [[nodiscard]] rings_result write(std::span<const boost::asio::const_buffer> buffers, bool other_has_ended) noexcept;
  /// @}
  [[nodiscard]] ring_writer& writer() noexcept { return writer_; }
  [[nodiscard]] const ring_writer& writer() const noexcept { return writer_; }
  [[nodiscard]] ring_reader& reader() noexcept { return reader_; }
  [[nodiscard]] const ring_reader& reader() const noexcept { return reader_; }
  /// Readable when the other end has news; what is read says how often.
  [[nodiscard]] boost::asio::posix::stream_descriptor& wake_up() noexcept { return wake_up_; }
  void wake_other() noexcept;

 private:
  std::unique_ptr<ring_pair, unmap_rings> memory_;
  ring_writer writer_;
  ring_reader reader_;
  boost::asio::posix::stream_descriptor wake_up_;
  owned_descriptor wakes_other_;
};

/// Over a Unix socket whose other end is authenticated, before anything else is said there: the end that dialled makes
/// the memory (unless it does not want to), and the other takes it (unless it does not). The socket stays, for its end.
/// Nothing where it is not to be had: `why_not`, unless this end did not want it. Throws where the connection breaks or
/// the stream's time is over. The rings are used on `executor`.
/// @{
[[nodiscard]] boost::asio::awaitable<std::optional<shared_rings>> offer_rings(timed_stream& stream, bool wanted,
                                                                              boost::asio::any_io_executor executor,
                                                                              std::string& why_not);
[[nodiscard]] boost::asio::awaitable<std::optional<shared_rings>> take_rings(timed_stream& stream, bool wanted,
                                                                             boost::asio::any_io_executor executor,
                                                                             std::string& why_not);
/// @}

using ring_exchange = decltype(&offer_rings);

/// A connection to another rank.
struct shared_connection {
  stream_socket socket;
  std::optional<shared_rings> rings;  ///< carry everything, and the socket only its end
  std::string why_not;                ///< there are none, and this end wanted some
};

/// What each end of a new connection does before its first use: the one that dialled with `offer_rings`, the other with
/// `take_rings`. Only Unix sockets can have rings; others stay as they are. Throws as those two; ends within `timeout`.
[[nodiscard]] boost::asio::awaitable<shared_connection> share_memory(stream_socket connected, ring_exchange exchange,
                                                                     bool wanted, boost::asio::any_io_executor executor,
                                                                     std::chrono::steady_clock::duration timeout);

}  // namespace weft::detail
