// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/engine/communicator.hpp>

#include <boost/asio/awaitable.hpp>

#include <string>

namespace weft::bench {

/// Sends what programs send, as objects and otherwise, from rank 0 to rank 1, one after the other and five times over:
/// the same bytes as a plain buffer, the same map packed into one buffer before. Rank 0 gets a table of medians and of
/// their ratios; what arrives is verified. For a group of two.
[[nodiscard]] boost::asio::awaitable<std::string> compare_objects(weft::communicator comm);

}  // namespace weft::bench
