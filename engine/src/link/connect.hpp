// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "link/acceptor.hpp"
#include "link/address.hpp"
#include "link/byte_stream.hpp"
#include "link/credentials.hpp"
#include "link/handshake.hpp"
#include "link/stream_sockets.hpp"

#include <weft/engine/error.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>

namespace weft::detail {

/// An authenticated connection, non-blocking, with the executor of the coroutine that asked for it.
struct connection {
  stream_socket socket;
  std::uint64_t server_incarnation = 0;
};

/// The server has a connection with this rank, or its own attempt goes first: nothing is wrong.
class refused_as_busy : public error {
 public:
  using error::error;
};

/// What to do where nobody listens (yet).
enum class absent_listener : std::uint8_t { fails, is_awaited };

/// Connects, proves to hold the job's key, and demands the same of the other end. `where` and `secret` must stay until
/// the coroutine ends. Ends after `timeout` at the latest; can be cancelled at any time, from any thread if the calling
/// coroutine can.
/// Throws `weft::error`: `authentication_failed`, `protocol_mismatch`, `address_unusable`, `job_key_required`,
/// `timed_out`, `rendezvous_conflict` or `peer_lost` by the server's verdict, `refused_as_busy`, or the error code of
/// the connection.
[[nodiscard]] boost::asio::awaitable<connection> connect_authenticated(const address& where, const credentials& secret,
                                                                       hello mine, std::chrono::milliseconds timeout,
                                                                       absent_listener absent = absent_listener::fails);

}  // namespace weft::detail
