// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <span>

namespace weft::detail {

/// Where bytes that were sent are read.
class byte_source {
 public:
  /// Exactly so many bytes, or `boost::system::system_error`.
  virtual boost::asio::awaitable<void> read(std::span<std::byte> bytes) = 0;

 protected:
  ~byte_source() = default;
};

}  // namespace weft::detail
