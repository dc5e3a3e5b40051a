// SPDX-License-Identifier: Apache-2.0
#include "protocol/group_splits.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace weft::protocol {

group_splits::group_splits(int ranks) : gone_(static_cast<std::size_t>(ranks)) {
  std::vector<int> all(gone_.size());
  std::iota(all.begin(), all.end(), 0);
  (void)form(std::move(all));
}

group_number group_splits::form(std::vector<int> members) {
  group& made = groups_.emplace_back();
  made.wishes.resize(members.size());
  for (std::size_t i = 0; i < members.size(); ++i) made.places.emplace_back(members[i], i);
  std::sort(made.places.begin(), made.places.end());
  made.members = std::move(members);
  return groups_.size() - 1;
}

std::optional<std::size_t> group_splits::place_of(group_number number, int rank) const noexcept {
  if (number >= groups_.size()) return std::nullopt;
  const auto& places = groups_[number].places;
  const auto found = std::lower_bound(places.begin(), places.end(), std::pair(rank, std::size_t{0}));
  if (found == places.end() || found->first != rank) return std::nullopt;
  return found->second;
}

bool group_splits::has_member(group_number number, int rank) const noexcept {
  return place_of(number, rank).has_value();
}

bool group_splits::ask(int rank, group_number parent, int color, int key, std::vector<split_answer>& out) {
  const auto place = place_of(parent, rank);
  if (!place) return false;
  group& asked = groups_[parent];
  asked.wishes[*place].push_back({color, key});
  const auto gone = std::find_if(asked.members.begin(), asked.members.end(),
                                 [this](int member) { return gone_[static_cast<std::size_t>(member)].has_value(); });
  if (gone != asked.members.end())
    fail(parent, *gone, out);
  else if (std::none_of(asked.wishes.begin(), asked.wishes.end(), [](const auto& one) { return one.empty(); }))
    split(parent, out);
  return true;
}

void group_splits::rank_gone(int rank, errc why, std::vector<split_answer>& out) {
  gone_[static_cast<std::size_t>(rank)] = why;
  for (group_number number = 0; number < groups_.size(); ++number)
    if (has_member(number, rank)) fail(number, rank, out);
}

void group_splits::fail(group_number parent, int gone, std::vector<split_answer>& out) {
  group& failed = groups_[parent];
  for (std::size_t i = 0; i < failed.members.size(); ++i)
    for (; !failed.wishes[i].empty(); failed.wishes[i].pop_front())
      out.push_back(
          {.rank = failed.members[i], .parent = parent, .code = *gone_[static_cast<std::size_t>(gone)], .gone = gone});
}

void group_splits::split(group_number parent, std::vector<split_answer>& out) {
  std::map<int, std::vector<std::pair<int, std::size_t>>> by_color;  // key, and rank in the parent
  for (std::size_t i = 0; i < groups_[parent].members.size(); ++i) {
    const wish next = groups_[parent].wishes[i].front();
    groups_[parent].wishes[i].pop_front();
    if (next.color < 0)
      out.push_back({.rank = groups_[parent].members[i], .parent = parent});
    else
      by_color[next.color].emplace_back(next.key, i);
  }
  for (auto& [color, chosen] : by_color) {
    std::sort(chosen.begin(), chosen.end());
    std::vector<int> members;
    for (const auto& [key, place] : chosen) members.push_back(groups_[parent].members[place]);
    const group_number made = form(members);
    for (const int member : members)
      out.push_back({.rank = member, .parent = parent, .group = made, .members = members});
  }
}

}  // namespace weft::protocol
