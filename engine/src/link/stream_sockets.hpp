// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "link/address.hpp"
#include "link/byte_stream.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace weft::detail {

using stream_endpoint = boost::asio::generic::stream_protocol::endpoint;

/// The endpoint of an address that needs no name server: of a Unix socket, a number, or "localhost".
[[nodiscard]] std::optional<stream_endpoint> numeric_endpoint(const address& where);

/// Non-blocking, not inherited by programs that this process starts, and TCP fit for small messages between ranks.
void prepare(stream_socket& socket);
/// Over TCP, has the kernel end the connection once the other end's host has been silent for that long; what is pending
/// fails then. Unix sockets need no such thing.
void limit_silence(stream_socket& socket, std::chrono::milliseconds longest);
/// A listening socket, or one that is about to connect, is not inherited either.
void close_on_exec(int descriptor);

/// Whether the process at the other end of a Unix socket runs as this user. The kernel vouches for it.
[[nodiscard]] bool is_of_this_user(stream_socket& socket);
/// "process 12 of user 1000" or "10.0.0.7:4211", for messages.
[[nodiscard]] std::string describe_other_end(stream_socket& socket);

/// The number by which other hosts reach this one, as far as the route to `there` tells; nothing is sent. Asks a name
/// server if `there` is a name, and blocks for it. Throws `weft::error` where there is no route.
[[nodiscard]] std::string local_host_towards(const address& there);

}  // namespace weft::detail
