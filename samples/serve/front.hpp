// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "options.hpp"

#include <weft/engine/communicator.hpp>

#include <boost/asio/awaitable.hpp>

namespace serve {

/// What rank 0 does: answers HTTP until SIGTERM or SIGINT, then finishes what it has begun. The exit status.
[[nodiscard]] boost::asio::awaitable<int> run_front(weft::communicator comm, options given);

}  // namespace serve
