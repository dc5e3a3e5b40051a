// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/system/error_code.hpp>

#include <cstddef>
#include <utility>

namespace weft::detail {

using stream_socket = boost::asio::generic::stream_protocol::socket;

/// Buffers that one system call takes: Asio passes on at most 64.
inline constexpr std::size_t most_buffers = 48;

/// What a non-blocking read or write did. `bytes` may be zero with a clear `code`: it would have blocked.
struct io_result {
  std::size_t bytes = 0;
  boost::system::error_code code;
  bool would_block = false;
};

namespace detail_io {
inline io_result classify(std::size_t bytes, const boost::system::error_code& code) noexcept {
  if (code == boost::asio::error::would_block || code == boost::asio::error::try_again) return {bytes, {}, true};
  return {bytes, code, false};
}
}  // namespace detail_io

/// Reads what is there. The end of the stream is `asio::error::eof`.
template <class Buffers>
io_result read_now(stream_socket& socket, const Buffers& buffers) {
  boost::system::error_code code;
  const std::size_t bytes = socket.read_some(buffers, code);
  return detail_io::classify(bytes, code);
}

/// Whether there is something to read, or the end of the stream. A wait for it may end without: where several threads
/// run one io_context, Asio can take the readiness of bytes that another has read meanwhile for a new one's.
inline bool is_readable(stream_socket& socket) {
  char byte = 0;
  boost::system::error_code code;
  (void)socket.receive(boost::asio::buffer(&byte, 1), stream_socket::message_peek, code);
  return !detail_io::classify(0, code).would_block;
}

/// Writes what the kernel takes at once.
template <class Buffers>
io_result write_now(stream_socket& socket, const Buffers& buffers) {
  boost::system::error_code code;
  const std::size_t bytes = socket.write_some(buffers, code);
  return detail_io::classify(bytes, code);
}

}  // namespace weft::detail
