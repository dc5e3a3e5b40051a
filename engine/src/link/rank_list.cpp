// SPDX-License-Identifier: Apache-2.0
#include "link/rank_list.hpp"

#include <weft/engine/error.hpp>

#include <algorithm>

namespace weft::detail {
namespace {

// As `rendezvous` documents it.
constexpr std::size_t largest_card = 4096;

}  // namespace

std::string list_ranks(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t first = 0, last = 0; first < ranks.size(); first = last + 1) {
    last = first;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (first != 0) text += ", ";
    text += std::to_string(ranks[first]);
    if (last != first) text += (last == first + 1 ? ", " : "-") + std::to_string(ranks[last]);
  }
  return text;
}

std::vector<int> missing_ranks(const std::vector<std::optional<std::string>>& cards) {
  std::vector<int> missing;
  for (std::size_t rank = 0; rank < cards.size(); ++rank)
    if (!cards[rank]) missing.push_back(static_cast<int>(rank));
  return missing;
}

std::string describe_missing(const std::vector<std::optional<std::string>>& cards, std::chrono::milliseconds timeout) {
  return list_ranks(missing_ranks(cards)) + " of " + std::to_string(cards.size()) + " did not join within " +
         std::to_string(timeout.count()) + " ms";
}

void check_contribution(int rank, int world_size, const std::string& card) {
  if (rank < 0 || rank >= world_size)
    throw error(errc::rank_out_of_range,
                "rank " + std::to_string(rank) + " cannot join a group of " + std::to_string(world_size));
  const bool printable = std::all_of(card.begin(), card.end(), [](char c) { return c >= ' ' && c < '\x7f'; });
  if (printable && card.size() < largest_card) return;
  throw error(errc::invalid_option, "the card of rank " + std::to_string(rank) + " has " + std::to_string(card.size()) +
                                        " characters: expected fewer than " + std::to_string(largest_card) +
                                        ", all of them printable");
}

}  // namespace weft::detail
