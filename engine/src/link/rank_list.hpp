// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace weft::detail {

/// "rank 3", or "ranks 1, 4-6", from ranks in ascending order.
[[nodiscard]] std::string list_ranks(const std::vector<int>& ranks);

/// The ranks that have no card yet.
[[nodiscard]] std::vector<int> missing_ranks(const std::vector<std::optional<std::string>>& cards);

/// What all who wait are told when time is up.
[[nodiscard]] std::string describe_missing(const std::vector<std::optional<std::string>>& cards,
                                           std::chrono::milliseconds timeout);

/// Throws `weft::error` unless the card is short and printable and the rank is one of the group.
void check_contribution(int rank, int world_size, const std::string& card);

}  // namespace weft::detail
