// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

namespace weft::bench {

/// What one rank does; its result is the exit status.
using rank_main = std::function<int(int rank)>;

/// Runs `body` as every rank from 0, each in a child process, and waits for all. Zero, or the status of the first that
/// failed, upon which the others are killed: what they wait for will not come.
/// Precondition: this process has one thread.
[[nodiscard]] int run_forked_ranks(int ranks, const rank_main& body);

}  // namespace weft::bench
