// SPDX-License-Identifier: Apache-2.0
#include "protocol/sequencer.hpp"

#include "protocol/mutation.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <utility>

namespace weft::protocol {

sequencer::sequencer(int ranks, const sequencer_limits& limits)
    : limits_(limits), ranks_(static_cast<std::size_t>(ranks)), shape_(ranks) {
  std::vector<int> all(ranks_.size());
  std::iota(all.begin(), all.end(), 0);
  add_group(root_group, std::move(all));
  (void)open_group(root_group);
}

void sequencer::add_group([[maybe_unused]] group_number group, std::vector<int> members) {
  assert(group == groups_.size() && "groups are numbered in the order of their making");
  groups_.push_back(std::move(members));
  group_communicators_.emplace_back();
}

// ---- events

void sequencer::matched(communicator_kind kind, const transfer& what, outbox& out) {
  count(what, true);
  const communicator_id id = open(kind, what, out);
  communicators_.at(id).pending.add(what);
  append_batches(id, out);
}

void sequencer::reserve(int rank, int peer, outbox& out) {
  const auto [low, high] = std::minmax(rank, peer);
  if (state_of(rank).gone) return;
  const auto pair = state_of(peer).gone ? std::nullopt : open_pair(low, high, out);
  if (!pair) {
    answers_.push_back({rank, peer, state_of(peer).gone ? departure_of(peer) : reservation_end::no_room});
    return;
  }
  reservation& wanted = reservations_[{low, high}];
  wanted.answers.push_back({rank, peer});
  for (const auto& [source, destination] : {std::pair(low, high), std::pair(high, low)}) {
    communicators_.at(*pair).pending.add({.source = source, .destination = destination});
    ++wanted.connections;
  }
  append_batches(*pair, out);
}

bool sequencer::withdraw(communicator_kind kind, const transfer& what) {
  const auto withdraw_from = [&](communicator_id id) { return communicators_.at(id).pending.withdraw(what); };
  bool found = false;
  if (kind == communicator_kind::pair) {
    const auto pair = pairs_.find(std::minmax(what.source, what.destination));
    found = pair != pairs_.end() && withdraw_from(pair->second);
  }
  // Where a pair goes, too, if it is beyond the budget.
  const auto& group = group_communicators_[what.group];
  if (!found) found = group && withdraw_from(*group);
  if (found) count(what, false);
  return found || is_mutated(mutation::withdraw_from_log);
}

void sequencer::lease_devices(std::span<const lease_wish> wishes, outbox& out) {
  ++last_entry_;
  for (const lease_wish& one : wishes)
    if (!state_of(one.rank).gone) out.push_back({one.rank, {last_entry_, group_communicator, lease{one.name}}});
}

// Groups of a communicator end in the order of the log, so that a report stands for all before it, too.
bool sequencer::finished(int rank, std::uint64_t entry, outbox& out) {
  const auto found = unfinished_.find(entry);
  if (found == unfinished_.end() || !found->second.is_owed_by(rank)) return false;
  const communicator_id id = found->second.communicator;
  communicator& on = communicators_.at(id);
  std::erase_if(on.unfinished, [&](std::uint64_t one) { return one <= entry && is_over(one, rank); });
  if (!on.retired)
    append_batches(id, out);
  else if (on.is_idle())
    communicators_.erase(id);
  return true;
}

/// One rank less has to report on that batch: whether it was the last one.
bool sequencer::is_over(std::uint64_t entry, int reporting) {
  std::vector<share>& unreported = unfinished_.at(entry).unreported;
  const auto own = std::find_if(unreported.begin(), unreported.end(), [=](share one) { return one.rank == reporting; });
  if (own == unreported.end()) return false;
  if (!state_of(reporting).gone) state_of(reporting).open_transfers -= own->transfers;
  unreported.erase(own);
  if (!unreported.empty()) return false;
  const open_entry over = std::move(unfinished_.extract(entry).mapped());
  answer(over.reservations, communicators_.at(over.communicator).aborted);
  return true;
}

void sequencer::answer(std::vector<reservation_answer> ended, bool has_failed) {
  for (reservation_answer& one : ended) {
    if (has_failed) one.end = reservation_end::failed;
    if (state_of(one.peer).gone) one.end = departure_of(one.peer);
    answers_.push_back(one);
  }
}

void sequencer::rank_leaves(int rank, outbox& out) {
  if (state_of(rank).gone) return;
  state_of(rank).left = true;
  const auto ended = communicators_of(rank);
  for (const communicator_id id : ended) append_evict(id, out);
  state_of(rank).gone = true;
  for (const communicator_id id : ended) replace(id, out);
  forget(rank, out);
}

void sequencer::rank_gone(int rank, outbox& out) {
  if (!std::exchange(state_of(rank).gone, true)) forget(rank, out);
}

void sequencer::forget(int rank, outbox& out) {
  state_of(rank).open_transfers = 0;
  // The names first: finishing a batch may append new ones, which this rank has no part in.
  std::vector<std::uint64_t> entries;
  for (const auto& [entry, unfinished] : unfinished_) entries.push_back(entry);
  for (const std::uint64_t entry : entries)
    if (!is_mutated(mutation::await_lost)) (void)finished(rank, entry, out);
  for (const communicator_id pair : std::vector(state_of(rank).pairs)) {
    if (!communicators_.at(pair).is_idle()) continue;
    append_evict(pair, out);
    replace(pair, out);
  }
}

// ---- what there is

std::size_t sequencer::unfinished_batches(communicator_id id) const {
  const auto found = communicators_.find(id);
  return found != communicators_.end() ? found->second.unfinished.size() : 0;
}

std::size_t sequencer::pending_transfers(communicator_id id) const {
  const auto found = communicators_.find(id);
  return found != communicators_.end() ? found->second.pending.size() : 0;
}

std::span<const int> sequencer::members(communicator_id id) const {
  const auto found = communicators_.find(id);
  if (found == communicators_.end()) return {};
  return found->second.members;
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
  communicator& on = communicators_.at(id);
  while (on.unfinished.size() < max_unfinished_batches && !on.pending.is_empty()) {
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
  communicator& on = communicators_.at(id);
  const bool any =
      std::any_of(taken_.begin(), taken_.end(), [this](const auto& one) { return both_are_there(one.what); });
  if (any && !std::exchange(on.created, true)) {
    create creation{on.kind, on.members};
    std::erase_if(creation.members, [this](int member) { return state_of(member).gone; });
    unidentified_[id] = creation.members;
    append_to_members(id, {++last_entry_, id, std::move(creation)}, out);
  }
  for (const auto& [what, first_use] : taken_) {
    // NCCL connects a direction on its first use, and blocks the host meanwhile; a rank reaches itself by a copy.
    if (!first_use || what.source == what.destination || !both_are_there(what)) continue;
    const log_entry entry{++last_entry_, id, connect{what.source, what.destination}};
    for (const int end_of_it : {what.source, what.destination}) out.push_back({end_of_it, entry});
  }
}

void sequencer::append_to_members(communicator_id id, const log_entry& entry, outbox& out) {
  for (const int member : communicators_.at(id).members)
    if (!state_of(member).gone) out.push_back({member, entry});
}

void sequencer::append_batch(communicator_id id, outbox& out) {
  const std::size_t begin = out.size();
  ++last_entry_;
  for (const auto& [what, first_use] : taken_) {
    append_part(what.source, id, what, out);
    if (what.destination != what.source) append_part(what.destination, id, what, out);
  }
  open_entry& unfinished = unfinished_[last_entry_];
  unfinished.communicator = id;
  unfinished.reservations = take_reservations();
  for (std::size_t i = begin; i < out.size(); ++i) {
    unfinished.unreported.push_back({out[i].rank, std::get<batch>(out[i].entry.content).transfers.size()});
    state_of(out[i].rank).part = 0;
  }
  communicator& on = communicators_.at(id);
  on.unfinished.push_back(last_entry_);
  on.last_use = last_entry_;
}

void sequencer::append_part(int rank, communicator_id id, const transfer& what, outbox& out) {
  rank_state& state = state_of(rank);
  if (state.gone) return;
  if (state.part == 0) {
    out.push_back({rank, {last_entry_, id, batch{}}});
    state.part = out.size();
  }
  if (!what.is_reservation()) std::get<batch>(out[state.part - 1].entry.content).transfers.push_back(what);
}

// Those whose last connection is in the batch that is being appended.
std::vector<reservation_answer> sequencer::take_reservations() {
  std::vector<reservation_answer> ended;
  for (const auto& [what, first_use] : taken_) {
    if (!what.is_reservation()) continue;
    const auto wanted = reservations_.find(std::minmax(what.source, what.destination));
    if (--wanted->second.connections != 0) continue;
    ended = std::move(wanted->second.answers);  // a batch with a reservation is of one pair
    reservations_.erase(wanted);
  }
  return ended;
}

}  // namespace weft::protocol
