// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "link/byte_stream.hpp"

#include <utility>

namespace weft::detail {

/// The same connection with another executor, which may be of another context. No operation may be pending on it.
inline stream_socket rehome(stream_socket socket, const boost::asio::any_io_executor& executor) {
  const auto protocol = socket.local_endpoint().protocol();
  stream_socket moved(executor, protocol, socket.release());
  moved.non_blocking(true);
  return moved;
}

}  // namespace weft::detail
