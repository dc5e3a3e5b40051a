// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/engine/route.hpp>

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace weft {

/// Messages and payload bytes.
struct traffic {
  std::uint64_t messages = 0;  ///< whole ones
  std::uint64_t bytes = 0;     ///< of their payload
};

/// What one rank has done since it joined.
struct communicator_stats {
  /// Communicators of groups that the device of this rank has really opened.
  std::uint64_t group_communicators = 0;
  /// Communicators of pairs that it has opened and that are still there, as (lower rank, higher rank).
  std::vector<std::pair<int, int>> pair_communicators;

  /// Sends that completed, by the route that carried them; index with `static_cast<std::size_t>(route)`.
  std::array<traffic, route_count> sent{};
  traffic received;              ///< receives that completed
  std::uint64_t landed = 0;      ///< bytes of segments that came directly into the objects that they belong to
  std::uint64_t copied = 0;      ///< bytes of segments that were received first, and then copied into objects
  std::uint64_t batches = 0;     ///< groups that the launch thread issued
  std::uint64_t open_links = 0;  ///< links to other ranks that stand now
  std::uint64_t unmatched = 0;   ///< messages that wait for a receive now
};

}  // namespace weft
