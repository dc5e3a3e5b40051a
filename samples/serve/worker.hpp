// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/engine/communicator.hpp>

#include <boost/asio/awaitable.hpp>

namespace serve {

/// What every rank but 0 does: counts words for the front until it leaves. The exit status.
[[nodiscard]] boost::asio::awaitable<int> run_worker(weft::communicator comm);

}  // namespace serve
