// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// The tags of this program.
namespace weft::bench::tags {

enum : std::uint64_t { payload, all_arrived, round, ready, go, part };

}  // namespace weft::bench::tags
