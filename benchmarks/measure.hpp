// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "figures.hpp"

#include <weft/engine/communicator.hpp>

#include <boost/asio/awaitable.hpp>

#include <optional>

namespace weft::bench {

/// Seconds since this program started.
struct start_times {
  double joining = 0;  ///< until this rank was there
  double joined = 0;   ///< until it had met the others
};

/// Runs the scenario on every rank: verifies a first exchange, warms up, measures, and verifies what arrived last.
/// Rank 0 gets the figures of all. Throws where a message arrived damaged or an operation failed.
[[nodiscard]] boost::asio::awaitable<std::optional<figures>> measure(weft::communicator comm, options asked,
                                                                     start_times start);

}  // namespace weft::bench
