// SPDX-License-Identifier: Apache-2.0
// Which communicator carries a transfer: made on first use, within a budget, replaced where they fail.
#include "protocol/sequencer.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace weft::protocol {

communicator_id sequencer::open(communicator_kind kind, const transfer& what, outbox& out) {
  if (kind == communicator_kind::pair) {
    assert(what.source != what.destination && "there is no pair of one rank");
    const auto [low, high] = std::minmax(what.source, what.destination);
    if (const auto pair = open_pair(low, high, out)) return *pair;
  }
  return open_group(what.group);
}

communicator_id sequencer::open_group(group_number number) {
  auto& name = group_communicators_[number];
  if (!name) {
    name = next_communicator_;
    add_communicator(communicator_kind::group, number, groups_[number]);
  }
  return *name;
}

std::optional<communicator_id> sequencer::open_pair(int low, int high, outbox& out) {
  if (const auto found = pairs_.find({low, high}); found != pairs_.end()) return found->second;
  if (!make_room(low, high, out)) return std::nullopt;
  const communicator_id id = next_communicator_;
  add_communicator(communicator_kind::pair, root_group, {low, high});
  pairs_.emplace(std::pair(low, high), id);
  for (const int rank : {low, high}) state_of(rank).pairs.push_back(id);
  return id;
}

sequencer::communicator& sequencer::add_communicator(communicator_kind kind, group_number group,
                                                     std::vector<int> members) {
  communicator& added = communicators_[next_communicator_++];
  added.kind = kind;
  added.group = group;
  added.members = std::move(members);
  added.last_use = last_entry_;
  return added;
}

// ---- the budget

// Each rank destroys what the log says: had each one chosen for itself, the two ends of a pair would choose
// differently.
bool sequencer::make_room(int low, int high, outbox& out) {
  std::vector<communicator_id> victims;
  for (const int rank : {low, high}) {
    if (state_of(rank).gone || state_of(rank).pairs.size() < limits_.most_pairs()) continue;
    const auto victim = least_used_pair(rank);
    if (!victim) return false;
    victims.push_back(*victim);
  }
  // Two different ones: the pair of both ranks is not there.
  for (const communicator_id victim : victims) {
    append_evict(victim, out);
    replace(victim, out);
  }
  return true;
}

std::optional<communicator_id> sequencer::least_used_pair(int rank) const {
  std::optional<communicator_id> least;
  for (const communicator_id id : state_of(rank).pairs) {
    const communicator& pair = communicators_.at(id);
    if (!pair.is_idle() || last_entry_ - pair.last_use < limits_.eviction_patience) continue;
    if (!least || pair.last_use < communicators_.at(*least).last_use) least = id;
  }
  return least;
}

// New transfers do not find it any more.
void sequencer::forget_name(communicator_id id) {
  const communicator& forgotten = communicators_.at(id);
  if (forgotten.kind == communicator_kind::group) {
    group_communicators_[forgotten.group].reset();
    return;
  }
  pairs_.erase({forgotten.members.front(), forgotten.members.back()});
  for (const int rank : forgotten.members) std::erase(state_of(rank).pairs, id);
}

// Whatever has become of the communicator meanwhile: its members wait for the id before they come to that.
std::optional<std::vector<int>> sequencer::identified(int rank, communicator_id id) {
  const auto found = unidentified_.find(id);
  if (found == unidentified_.end() || found->second.front() != rank) return std::nullopt;
  std::vector<int> others = std::move(found->second);
  unidentified_.erase(found);
  others.erase(others.begin());
  return others;
}

// ---- their ends

bool sequencer::failed(int rank, communicator_id id, outbox& out) {
  const auto found = communicators_.find(id);
  if (found == communicators_.end()) return true;  // it is over at all of its members
  communicator& one = found->second;
  if (std::find(one.members.begin(), one.members.end(), rank) == one.members.end()) return false;
  if (one.aborted) return true;
  append_abort(id, out);
  if (!std::exchange(one.retired, true)) replace(id, out);
  return true;
}

std::vector<communicator_id> sequencer::communicators_of(int rank) const {
  std::vector<communicator_id> found;
  for (const auto& [id, one] : communicators_)
    if (!one.retired && std::find(one.members.begin(), one.members.end(), rank) != one.members.end())
      found.push_back(id);
  std::sort(found.begin(), found.end());
  return found;
}

void sequencer::append_abort(communicator_id id, outbox& out) {
  communicators_.at(id).aborted = true;
  append_to_members(id, {++last_entry_, id, abort{}}, out);
}

// It stays known until all have destroyed it: it may still fail at one, and the others need to hear of it.
void sequencer::append_evict(communicator_id id, outbox& out) {
  communicator& ended = communicators_.at(id);
  ended.retired = true;
  if (!ended.created) return;
  append_to_members(id, {++last_entry_, id, evict{}}, out);
  open_entry& open = unfinished_[last_entry_];
  open.communicator = id;
  for (const int member : ended.members)
    if (!state_of(member).gone) open.unreported.push_back({member, 0});
  ended.unfinished.push_back(last_entry_);
}

/// What waits for a communicator that has ended is carried by another one.
void sequencer::replace(communicator_id id, outbox& out) {
  forget_name(id);
  communicator& retired = communicators_.at(id);
  transfer_lanes pending = std::exchange(retired.pending, {});
  const bool was_pair = retired.kind == communicator_kind::pair;
  const int low = retired.members.front();
  const int high = retired.members.back();
  const group_number group = retired.group;
  if (retired.unfinished.empty()) communicators_.erase(id);
  if (pending.is_empty()) return;
  // There is room for the pair: the one before was in its place.
  const communicator_id next = was_pair ? open_pair(low, high, out).value() : open_group(group);
  pending.forget_use();
  communicators_.at(next).pending = std::move(pending);
  append_batches(next, out);
}

}  // namespace weft::protocol
