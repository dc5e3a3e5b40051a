// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/engine/engine.hpp>

#include <boost/asio/awaitable.hpp>

#include <functional>
#include <string>
#include <vector>

namespace weft {

/// The body of a small program: its result is the exit status.
using main_coroutine = std::function<boost::asio::awaitable<int>(communicator, std::vector<std::string> arguments)>;

/// Joins the group that the environment describes, runs `body`, closes, and returns the exit status: that of `body`, or
/// 1 with the error on standard error where something failed. `arguments` are those of the command line, without the
/// program's name. Warnings of the engine's log go to standard error.
[[nodiscard]] int run(int argc, char** argv, const main_coroutine& body);

}  // namespace weft
