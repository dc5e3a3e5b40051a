// SPDX-License-Identifier: Apache-2.0
#include "protocol/lease_wishes.hpp"

#include "protocol/mutation.hpp"

#include <algorithm>
#include <utility>

namespace weft::protocol {

bool lease_wishes::ask(int rank, group_number group, std::uint64_t name, std::vector<lease_wish>& complete,
                       std::vector<lease_answer>& out) {
  if (!groups_.has_member(group, rank)) return false;
  const std::vector<int>& members = *groups_.members(group);
  wishes& all = waiting_[group];
  all[rank].push_back(name);
  const auto gone = std::find_if(members.begin(), members.end(),
                                 [this](int member) { return gone_[static_cast<std::size_t>(member)].has_value(); });
  if (gone != members.end())
    fail(all, *gone, out);
  else if (all.size() == members.size() || is_mutated(mutation::lease_alone))
    complete = take_first(all);
  return true;
}

std::vector<lease_wish> lease_wishes::take_first(wishes& from) {
  std::vector<lease_wish> taken;
  for (auto& [rank, names] : from) {
    taken.push_back({rank, names.front()});
    names.pop_front();
  }
  std::erase_if(from, [](const auto& one) { return one.second.empty(); });
  return taken;
}

void lease_wishes::withdraw(int rank, group_number group, std::uint64_t name, std::vector<lease_answer>& out) {
  const auto all = waiting_.find(group);
  if (all == waiting_.end()) return;
  const auto own = all->second.find(rank);
  if (own == all->second.end() || std::erase(own->second, name) == 0) return;
  if (own->second.empty()) all->second.erase(own);
  out.push_back({.rank = rank, .wish = name, .code = errc::cancelled});
}

void lease_wishes::rank_gone(int rank, errc why, std::vector<lease_answer>& out) {
  gone_[static_cast<std::size_t>(rank)] = why;
  for (auto& [group, all] : waiting_)
    if (groups_.has_member(group, rank)) fail(all, rank, out);
}

void lease_wishes::fail(wishes& all, int gone, std::vector<lease_answer>& out) const {
  const errc why = *gone_[static_cast<std::size_t>(gone)];
  for (const auto& [rank, names] : std::exchange(all, {}))
    for (const std::uint64_t name : names) out.push_back({.rank = rank, .wish = name, .code = why, .gone = gone});
}

}  // namespace weft::protocol
