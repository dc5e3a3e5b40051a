// SPDX-License-Identifier: Apache-2.0
#include "protocol/log_follower.hpp"

#include "protocol/mutation.hpp"

#include <algorithm>
#include <iterator>

namespace weft::protocol {

namespace {

/// Whether it puts kernels on the device: to connect, NCCL moves something.
bool takes_room(const log_entry& entry) {
  return std::holds_alternative<batch>(entry.content) || std::holds_alternative<connect>(entry.content);
}

}  // namespace

std::optional<log_entry> log_follower::next() {
  while (!set_up_ && !is_leased_ && !entries_.empty()) {
    const auto at = entries_.begin() + static_cast<std::ptrdiff_t>(choose());
    const readiness state = check(*at);
    if (state == readiness::waits) return std::nullopt;
    if (state == readiness::pointless) {
      entries_.erase(at);
      continue;
    }
    std::optional<log_entry> entry(std::move(*at));
    entries_.erase(at);
    begin(*entry);
    return entry;
  }
  return std::nullopt;
}

log_follower::readiness log_follower::check(const log_entry& entry) {
  if (std::holds_alternative<lease>(entry.content))
    return gate_.is_idle() || is_mutated(mutation::lease_beside_groups) ? readiness::ready : readiness::waits;
  if (std::holds_alternative<evict>(entry.content))
    return gate_.is_resident(entry.communicator) ? readiness::waits : readiness::ready;
  const bool is_batch = std::holds_alternative<batch>(entry.content);
  if (!is_batch && failed_.contains(entry.communicator)) return readiness::pointless;
  if (takes_room(entry) && !gate_.may_issue(entry.communicator)) return readiness::waits;
  const auto* creation = std::get_if<create>(&entry.content);
  return creation != nullptr ? check_create(entry.communicator, *creation) : readiness::ready;
}

log_follower::readiness log_follower::check_create(communicator_id communicator, const create& what) {
  const int root = what.members.front();
  if (root == self_ || identified_.contains(communicator)) return readiness::ready;
  const auto gone = gone_.find(root);
  if (gone == gone_.end()) return readiness::waits;  // its unique id is on its way
  failed_here(communicator, gone->second.why);       // nobody is left to make one
  return readiness::pointless;
}

void log_follower::begin(log_entry& entry) {
  if (takes_room(entry)) gate_.issued(entry.communicator);
  if (std::holds_alternative<lease>(entry.content)) {
    is_leased_ = true;
  } else if (!std::holds_alternative<batch>(entry.content)) {
    if (is_mutated(mutation::evict_by_own_choice)) choose_own_victim(entry);
    set_up_ = entry;
  } else if (is_mutated(mutation::group_by_timing)) {
    merge_what_has_come(entry);
  }
}

log_entry log_follower::set_up_ended(boost::system::error_code code) {
  log_entry ended = std::move(*set_up_);
  set_up_.reset();
  if (takes_room(ended)) gate_.finished(ended.communicator);
  if (std::holds_alternative<evict>(ended.content)) {
    identified_.erase(ended.communicator);
    failed_.erase(ended.communicator);
  } else if (code) {
    const auto* direction = std::get_if<connect>(&ended.content);
    const bool is_loss =
        direction != nullptr && (gone_.contains(direction->source) || gone_.contains(direction->destination));
    if (!is_loss) failed_here(ended.communicator, code);
  }
  return ended;
}

const boost::system::error_code* log_follower::failure_of(communicator_id communicator) const {
  const auto found = failed_.find(communicator);
  return found == failed_.end() ? nullptr : &found->second;
}

std::optional<boost::system::error_code> log_follower::failure_for(communicator_id communicator, int peer) const {
  const auto* failure = failure_of(communicator);
  if (failure == nullptr) return std::nullopt;
  if (const auto gone = gone_.find(peer); gone != gone_.end()) return gone->second.why;
  const bool is_loss = *failure == errc::peer_lost || *failure == errc::peer_left;
  return is_loss ? errc::transfer_aborted : *failure;
}

// The first one. As a deliberate fault, the first one of some communicator that is ready, chosen otherwise on each
// rank.
std::size_t log_follower::choose() {
  if (!is_mutated(mutation::log_per_communicator)) return 0;
  std::set<communicator_id> passed;
  std::vector<std::size_t> candidates;
  for (std::size_t i = 0; i < entries_.size(); ++i)
    if (passed.insert(entries_[i].communicator).second && check(entries_[i]) != readiness::waits)
      candidates.push_back(i);
  if (candidates.empty()) return 0;
  return self_ % 2 == 0 ? candidates.front() : candidates.back();
}

void log_follower::merge_what_has_come(log_entry& into) {
  while (!entries_.empty() && entries_.front().communicator == into.communicator) {
    const auto* more = std::get_if<batch>(&entries_.front().content);
    if (more == nullptr) return;
    auto& transfers = std::get<batch>(into.content).transfers;
    transfers.insert(transfers.end(), more->transfers.begin(), more->transfers.end());
    into.number = entries_.front().number;
    entries_.pop_front();
  }
}

// Another communicator than the log says, where there is one: the lowest that was identified or made here.
void log_follower::choose_own_victim(log_entry& entry) {
  if (std::holds_alternative<create>(entry.content)) identified_.insert(entry.communicator);
  if (!std::holds_alternative<evict>(entry.content)) return;
  for (const communicator_id other : identified_)
    if (other != group_communicator && other != entry.communicator) {
      entry.communicator = other;
      return;
    }
}

}  // namespace weft::protocol
