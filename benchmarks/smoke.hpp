// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace weft::bench {

/// Counts the processor instructions that one message takes, both ends together and without the kernel's, by running
/// this program under callgrind; and compares them with those on record. Instructions are the same on a busy machine as
/// on an idle one. Prints a table. The exit status: 0 where all are within their leeway, 1 where one is above it, 77
/// where it cannot be told, with the reason.
[[nodiscard]] int run_smoke();

/// What is counted: so many exchanges of a case between two engines on one loop of this process. Throws `usage_error`
/// for a case that there is none of.
void run_smoke_case(std::string_view name, std::uint64_t exchanges);

}  // namespace weft::bench
