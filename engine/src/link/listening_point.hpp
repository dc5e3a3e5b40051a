// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "link/acceptor.hpp"
#include "link/byte_stream.hpp"
#include "link/credentials.hpp"
#include "link/handshake.hpp"

#include <weft/engine/options.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace weft::detail {

/// How a process listens and dials, the same for all of its listening points.
struct listening_options {
  credentials secret;
  bool over_unix = true;
  bool over_tcp = false;
  std::string tcp_host;  ///< the address that other ranks reach this process by
  std::string host_id;   ///< ranks with the same one reach each other's Unix sockets
  std::chrono::milliseconds link_timeout{};
  std::function<void(std::string)> report;
};

/// From the engine's options: which transports there are, and under which address this host is reached.
/// Throws `weft::error` where the options ask for what cannot be had.
[[nodiscard]] listening_options listen_as(const engine_options& options);

struct listening_callbacks {
  std::function<verdict(const hello&)> admit;
  std::function<void(const hello&, stream_socket)> accepted;
};

/// Where other processes reach one part of this one (its links, its launch thread, its sequencer): by a Unix socket,
/// by TCP, or both; described by a card that `dial` understands.
class listening_point {
 public:
  listening_point(const boost::asio::any_io_executor& executor, const listening_options& options,
                  listening_callbacks callbacks);

  /// "HOST_ID ADDRESS...": printable, without newlines.
  [[nodiscard]] std::string card() const;

  /// Connects to whom a card describes, over the best transport that both have. The socket's executor is that of the
  /// calling coroutine.
  [[nodiscard]] boost::asio::awaitable<stream_socket> dial(std::string card, hello mine,
                                                           std::chrono::milliseconds timeout) const;
  void close();

 private:
  listening_options options_;
  std::optional<acceptor> unix_;
  std::optional<acceptor> tcp_;
};

}  // namespace weft::detail
