// SPDX-License-Identifier: Apache-2.0
#include "protocol/sequencer.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <utility>

namespace weft::protocol {
namespace {

std::uint64_t pair_key(const transfer& what) {
  const auto [low, high] = std::minmax(what.source, what.destination);
  return std::uint64_t{static_cast<std::uint32_t>(low)} << 32 | static_cast<std::uint32_t>(high);
}

}  // namespace

sequencer::sequencer(int ranks) : ranks_(static_cast<std::size_t>(ranks)), shape_(ranks) {
  communicator& group = communicators_.emplace_back();
  group.members.resize(ranks_.size());
  std::iota(group.members.begin(), group.members.end(), 0);
  add_group(root_group, group.members);
}

void sequencer::add_group([[maybe_unused]] group_number group, std::vector<int> members) {
  assert(group == groups_.size() && "groups are numbered in the order of their making");
  groups_.push_back(std::move(members));
  group_communicators_.push_back(group_communicator);
}

// ---- events

void sequencer::matched(communicator_kind kind, const transfer& what, outbox& out) {
  count(what, true);
  const communicator_id id = open(kind, what);
  communicators_[id].pending.add(what);
  append_batches(id, out);
}

bool sequencer::withdraw(communicator_kind kind, const transfer& what) {
  communicator_id id = group_communicator;
  if (kind == communicator_kind::pair) {
    const auto found = pairs_.find(pair_key(what));
    if (found == pairs_.end()) return false;
    id = found->second;
  } else {
    id = group_communicators_[what.group];
  }
  if (!communicators_[id].pending.withdraw(what)) return false;
  count(what, false);
  return true;
}

bool sequencer::finished(int rank, std::uint64_t entry, outbox& out) {
  const auto found = unfinished_.find(entry);
  if (found == unfinished_.end()) return false;
  std::vector<share>& unreported = found->second.unreported;
  const auto own = std::find_if(unreported.begin(), unreported.end(), [=](share one) { return one.rank == rank; });
  if (own == unreported.end()) return false;
  if (!state_of(rank).gone) state_of(rank).open_transfers -= own->transfers;
  unreported.erase(own);
  if (!unreported.empty()) return true;
  const communicator_id id = found->second.communicator;
  unfinished_.erase(found);
  --communicators_[id].unfinished;
  append_batches(id, out);
  return true;
}

void sequencer::rank_gone(int rank, outbox& out) {
  if (std::exchange(state_of(rank).gone, true)) return;
  state_of(rank).open_transfers = 0;
  // The names first: finishing a batch may append new ones, which this rank has no part in.
  std::vector<std::uint64_t> entries;
  for (const auto& [entry, unfinished] : unfinished_) entries.push_back(entry);
  for (const std::uint64_t entry : entries) (void)finished(rank, entry, out);
}

// ---- what there is

int sequencer::unfinished_batches(communicator_id id) const {
  return id < communicators_.size() ? communicators_[id].unfinished : 0;
}

std::size_t sequencer::pending_transfers(communicator_id id) const {
  return id < communicators_.size() ? communicators_[id].pending.size() : 0;
}

std::span<const int> sequencer::members(communicator_id id) const {
  if (id >= communicators_.size()) return {};
  return communicators_[id].members;
}

communicator_id sequencer::open(communicator_kind kind, const transfer& what) {
  return kind == communicator_kind::group ? open_group(what.group) : open_pair(what);
}

communicator_id sequencer::open_group(group_number number) {
  communicator_id& id = group_communicators_[number];
  if (number == root_group || id != group_communicator) return id;
  id = static_cast<communicator_id>(communicators_.size());
  communicators_.emplace_back().members = groups_[number];
  return id;
}

communicator_id sequencer::open_pair(const transfer& what) {
  assert(what.source != what.destination && "there is no pair of one rank");
  const auto next = static_cast<communicator_id>(communicators_.size());
  const auto [at, is_new] = pairs_.try_emplace(pair_key(what), next);
  if (is_new) {
    communicator& pair = communicators_.emplace_back();
    const auto [low, high] = std::minmax(what.source, what.destination);
    pair.kind = communicator_kind::pair;
    pair.members = {low, high};
  }
  return at->second;
}

void sequencer::count(const transfer& what, bool opened) {
  for (const int rank : {what.source, what.destination}) {
    rank_state& state = state_of(rank);
    if (!state.gone) opened ? ++state.open_transfers : --state.open_transfers;
    if (what.source == what.destination) return;  // one part of one batch
  }
}

// ---- the log

void sequencer::append_batches(communicator_id id, outbox& out) {
  communicator& on = communicators_[id];
  while (on.unfinished < max_unfinished_batches && !on.pending.is_empty()) {
    taken_.clear();
    shape_.clear();
    on.pending.take(shape_, taken_);
    drop_orphans();
    if (taken_.empty()) continue;
    append_set_ups(id, out);
    append_batch(id, out);
  }
}

void sequencer::drop_orphans() {
  std::erase_if(taken_, [this](const transfer_lanes::taken_transfer& one) {
    return state_of(one.what.source).gone && state_of(one.what.destination).gone;
  });
}

void sequencer::append_set_ups(communicator_id id, outbox& out) {
  communicator& on = communicators_[id];
  if (!std::exchange(on.created, true)) {
    const log_entry entry{++last_entry_, id, create{on.kind, on.members}};
    for (const int member : on.members)
      if (!state_of(member).gone) out.push_back({member, entry});
  }
  for (const auto& [what, first_use] : taken_) {
    // NCCL connects a direction on its first use, and blocks the host meanwhile; a rank reaches itself by a copy.
    if (!first_use || what.source == what.destination) continue;
    const log_entry entry{++last_entry_, id, connect{what.source, what.destination}};
    for (const int end : {what.source, what.destination})
      if (!state_of(end).gone) out.push_back({end, entry});
  }
}

void sequencer::append_batch(communicator_id id, outbox& out) {
  const std::size_t begin = out.size();
  ++last_entry_;
  for (const auto& [what, first_use] : taken_) {
    append_part(what.source, id, what, out);
    if (what.destination != what.source) append_part(what.destination, id, what, out);
  }
  open_batch& unfinished = unfinished_[last_entry_];
  unfinished.communicator = id;
  for (std::size_t i = begin; i < out.size(); ++i) {
    unfinished.unreported.push_back({out[i].rank, std::get<batch>(out[i].entry.content).transfers.size()});
    state_of(out[i].rank).part = 0;
  }
  ++communicators_[id].unfinished;
}

void sequencer::append_part(int rank, communicator_id id, const transfer& what, outbox& out) {
  rank_state& state = state_of(rank);
  if (state.gone) return;
  if (state.part == 0) {
    out.push_back({rank, {last_entry_, id, batch{}}});
    state.part = out.size();
  }
  std::get<batch>(out[state.part - 1].entry.content).transfers.push_back(what);
}

}  // namespace weft::protocol
