// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "crew.hpp"
#include "part.hpp"
#include "workload.hpp"

#include <boost/asio/awaitable.hpp>

namespace weft::bench {

/// Verifies a first exchange, warms up, measures for that long, and verifies what arrived last. All ranks measure at
/// the same time. The result is this rank's part.
[[nodiscard]] boost::asio::awaitable<part> run_measured(const crew& members, workload& work, double seconds);

}  // namespace weft::bench
