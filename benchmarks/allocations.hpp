// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace weft::bench {

/// How much memory this process has taken from the heap, in calls of operator new by any thread.
[[nodiscard]] std::uint64_t allocations_so_far() noexcept;

}  // namespace weft::bench
