// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/awaitable.hpp>

#include <vector>

namespace weft::bench {

/// Runs all of them at the same time. Once one has failed the others are cancelled, and its error is thrown.
[[nodiscard]] boost::asio::awaitable<void> together(std::vector<boost::asio::awaitable<void>> all);

}  // namespace weft::bench
