// SPDX-License-Identifier: Apache-2.0
#include "omissions.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace weft::simulation {
namespace {

void check_messages(const std::set<int>& messages, const program& of) {
  const int count = static_cast<int>(of.operations.size() / 2);
  if (messages.empty() || *messages.rbegin() < count) return;
  throw std::invalid_argument("the program of seed " + std::to_string(of.seed) + " has the messages 0 to " +
                              std::to_string(count - 1) + ", and no message " + std::to_string(*messages.rbegin()) +
                              " to leave out");
}

void leave_out_messages(const std::set<int>& messages, program& from) {
  const auto is_left_out = [&](int operation) { return messages.contains(message_of(operation)); };
  for (auto& strands : from.strands)
    for (strand& one : strands) {
      for (step& each : one) std::erase_if(each.operations, is_left_out);
      std::erase_if(one, [](const step& each) { return each.operations.empty(); });
    }
  for (planned_operation& one : from.operations) {
    one.left_out = is_left_out(one.number);
    if (one.ready_after >= 0 && is_left_out(one.ready_after)) one.ready_after = -1;
  }
}

// ---- features

void start_one_by_one(strand& by) {
  strand apart;
  for (const step& together : by) {
    for (const int operation : together.operations) apart.push_back({.operations = {operation}});
    apart.back().waits = together.waits;
  }
  by = std::move(apart);
}

void make_plain(planned_operation& operation, const std::set<feature>& without) {
  if (without.contains(feature::cancels)) operation.cancelled_after = -1;
  if (without.contains(feature::deadlines) && operation.limit >= 0) operation.limit = long_limit;
  if (without.contains(feature::unready)) operation.ready_after = -1;
}

void make_plain(strand& by, const std::set<feature>& without) {
  if (without.contains(feature::waits))
    for (step& one : by) one.waits = false;
  if (without.contains(feature::batches)) start_one_by_one(by);
}

void make_plain(setting& how, const std::set<feature>& without) {
  if (without.contains(feature::evictions)) how.pair_budget = std::numeric_limits<std::size_t>::max();
  if (without.contains(feature::stuck_groups)) how.groups_get_stuck = false;
  if (without.contains(feature::leases)) how.leases = 0;
  if (without.contains(feature::loss)) how.lost_rank = -1;
  if (without.contains(feature::quiet_set_ups)) how.set_up_synchronizes = false;
}

// ---- ranks

/// New numbers by old ones: those that go have none, -1.
using renumbering = std::vector<int>;

template <class Keeps>
renumbering number_again(std::size_t count, Keeps keeps) {
  renumbering numbers(count, -1);
  int next = 0;
  for (std::size_t old = 0; old < count; ++old)
    if (keeps(old)) numbers[old] = next++;
  return numbers;
}

template <class T>
void keep(std::vector<T>& all, const renumbering& numbers) {
  std::vector<T> kept;
  for (std::size_t old = 0; old < all.size(); ++old)
    if (numbers[old] >= 0) kept.push_back(std::move(all[old]));
  all = std::move(kept);
}

/// New ranks in a group, by old ones.
renumbering ranks_in(const group_plan& group, const renumbering& ranks) {
  return number_again(group.members.size(),
                      [&](std::size_t member) { return ranks[static_cast<std::size_t>(group.members[member])] >= 0; });
}

void keep_ranks(program& of, const renumbering& ranks) {
  std::vector<renumbering> by_group;
  for (const group_plan& group : of.groups) by_group.push_back(ranks_in(group, ranks));
  for (split_plan& plan : of.splits) keep(plan.wishes, by_group[static_cast<std::size_t>(plan.parent)]);
  for (std::size_t i = 0; i < of.groups.size(); ++i) {
    keep(of.groups[i].members, by_group[i]);
    for (int& member : of.groups[i].members) member = ranks[static_cast<std::size_t>(member)];
  }
  for (planned_operation& one : of.operations) {
    if (one.left_out) continue;
    one.rank = ranks[static_cast<std::size_t>(one.rank)];
    if (one.peer >= 0) one.peer = by_group[static_cast<std::size_t>(one.group)][static_cast<std::size_t>(one.peer)];
  }
  keep(of.strands, ranks);
}

void leave_out_idle_ranks(program& from, setting& how) {
  const auto works = [&](std::size_t rank) {
    if (rank == 0 && how.lost_rank > 0) return true;  // or the one that is lost might take its place
    return std::any_of(from.strands[rank].begin(), from.strands[rank].end(),
                       [](const strand& one) { return !one.empty(); });
  };
  const renumbering ranks = number_again(from.strands.size(), works);
  keep_ranks(from, ranks);
  how.ranks = from.ranks();
  if (how.lost_rank >= 0) how.lost_rank = ranks[static_cast<std::size_t>(how.lost_rank)];
}

}  // namespace

void leave_out(const omissions& what, program& from, setting& how) {
  check_messages(what.messages, from);
  leave_out_messages(what.messages, from);
  for (planned_operation& one : from.operations) make_plain(one, what.features);
  for (auto& strands : from.strands)
    for (strand& one : strands) make_plain(one, what.features);
  make_plain(how, what.features);
  if (what.features.contains(feature::idle_ranks)) leave_out_idle_ranks(from, how);
}

}  // namespace weft::simulation
