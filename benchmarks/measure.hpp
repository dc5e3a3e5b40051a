// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "figures.hpp"

#include <weft/engine/communicator.hpp>

#include <boost/asio/awaitable.hpp>

#include <optional>

namespace weft::bench {

/// Runs the scenario on every rank: verifies a first exchange, warms up, measures, and verifies what arrived last.
/// Rank 0 gets the figures of all pairs. Throws where a message arrived damaged or an operation failed.
[[nodiscard]] boost::asio::awaitable<std::optional<figures>> measure(weft::communicator comm, options asked);

}  // namespace weft::bench
