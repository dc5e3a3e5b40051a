// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// The tags of this program.
namespace weft::bench::tags {

enum : std::uint64_t { payload, request, all_arrived, round, ready, go, part };

/// The first of as many as may be in flight.
inline constexpr std::uint64_t pending_message = 1'000'000;
inline constexpr std::uint64_t pending_receive = 2'000'000;

}  // namespace weft::bench::tags
