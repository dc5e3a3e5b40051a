// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "link/address.hpp"
#include "link/stream_sockets.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <vector>

namespace weft::detail {

struct resolution {
  boost::system::error_code problem;
  std::vector<stream_endpoint> endpoints;
};

/// The endpoints of an address. Asks a name server only if it must, and no longer than until `deadline`. Runs on
/// `strand`, which is the calling coroutine's.
[[nodiscard]] boost::asio::awaitable<resolution> resolve(const address& where, boost::asio::any_io_executor strand,
                                                         std::chrono::steady_clock::time_point deadline);

}  // namespace weft::detail
