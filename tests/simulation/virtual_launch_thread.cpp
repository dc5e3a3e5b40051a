// SPDX-License-Identifier: Apache-2.0
#include "virtual_launch_thread.hpp"

#include <utility>

namespace weft::simulation {
namespace {

/// Longer than what is not stuck takes in most runs; and where it does take longer, it is aborted all the same.
constexpr schedule::ticks launch_timeout = 5'000;
constexpr schedule::ticks set_up_timeout = 5'000;

}  // namespace

virtual_launch_thread::virtual_launch_thread(world& all, virtual_devices& devices, const setting& how, int rank,
                                             connections to)
    : world_(all),
      devices_(devices),
      rank_(rank),
      to_(std::move(to)),
      follower_(rank, how.residency),
      has_launch_timeout_(how.groups_get_stuck),
      has_set_up_timeout_(how.lost_rank >= 0) {}

void virtual_launch_thread::hear(const from_sequencer& message) {
  wake_with([this, message] { take(message); });
}

void virtual_launch_thread::wake_with(news what) {
  if (is_stopped_) return;
  inbox_.push_back(std::move(what));
  if (!std::exchange(wake_planned_, true)) world_.time.after_some_delay([this] { wake(); });
}

void virtual_launch_thread::wake() {
  wake_planned_ = false;
  if (is_stopped_) return;
  for (const news& one : std::exchange(inbox_, {})) one();
  advance();
}

void virtual_launch_thread::take(const from_sequencer& message) {
  if (const auto* shown = std::get_if<identity>(&message)) return follower_.identity_arrived(shown->communicator);
  if (const auto* lost = std::get_if<gone>(&message)) return rank_gone(lost->rank);
  const auto& entry = std::get<protocol::log_entry>(message);
  if (!std::holds_alternative<protocol::abort>(entry.content)) return follower_.append(entry);
  follower_.failed_elsewhere(entry.communicator, errc::transfer_aborted);
  abort(entry.communicator);
}

// What NCCL has to offer where a rank is lost: all communicators that it was a member of are aborted.
void virtual_launch_thread::rank_gone(int rank) {
  follower_.rank_gone(rank, errc::peer_lost);
  for (const auto on : devices_.shared_communicators(rank_, rank)) {
    follower_.failed_here(on, errc::peer_lost);
    abort(on);
  }
}

void virtual_launch_thread::abort(protocol::communicator_id on) {
  world_.note(rank_, "aborts communicator ", on);
  devices_.abort(rank_, on);
}

void virtual_launch_thread::advance() {
  while (const auto entry = follower_.next()) {
    if (std::holds_alternative<protocol::lease>(entry->content)) {
      lend();
      continue;
    }
    const auto on = entry->communicator;
    if (!std::holds_alternative<protocol::batch>(entry->content)) watch_set_up(on);
    const auto ended = [this](boost::system::error_code code) { wake_with([this, code] { set_up_ended(code); }); };
    if (const auto* creation = std::get_if<protocol::create>(&entry->content)) {
      create(on, *creation, ended);
    } else if (const auto* direction = std::get_if<protocol::connect>(&entry->content)) {
      world_.note(rank_, "connects ", direction->source, " to ", direction->destination, " on ", on);
      devices_.connect(rank_, on, direction->source, direction->destination, ended);
    } else if (const auto* batch = std::get_if<protocol::batch>(&entry->content)) {
      issue(on, entry->number, *batch);
    } else {
      world_.note(rank_, "destroys communicator ", on);
      devices_.destroy(rank_, on, ended);
    }
  }
  for (const auto communicator : follower_.take_failures()) to_.report(failed{communicator});
}

void virtual_launch_thread::lend() {
  world_.note(rank_, "lends its device");
  devices_.lend(rank_);
  to_.lent();
}

void virtual_launch_thread::end_lease() {
  wake_with([this] {
    world_.note(rank_, "has its device back");
    devices_.take_back(rank_);
    follower_.lease_ended();
  });
}

void virtual_launch_thread::create(protocol::communicator_id on, const protocol::create& what,
                                   virtual_devices::callback ended) {
  world_.note(rank_, "creates communicator ", on);
  if (what.members.front() == rank_) to_.report(identity{on});
  devices_.create(rank_, on, what.members, std::move(ended));
}

void virtual_launch_thread::set_up_ended(boost::system::error_code code) {
  const protocol::log_entry ended = follower_.set_up_ended(code);
  if (std::holds_alternative<protocol::evict>(ended.content)) to_.report(finished{ended.number});
}

void virtual_launch_thread::issue(protocol::communicator_id on, std::uint64_t number, const protocol::batch& what) {
  std::vector<virtual_devices::operation> group;
  launched_[number].on = on;
  for (const protocol::transfer& one : what.transfers) {
    if (one.source == rank_) add_operation(number, group, one, true);
    if (one.destination == rank_) add_operation(number, group, one, false);
  }
  world_.note(rank_, "launches entry ", number, " with ", group.size(), " operations on ", on);
  const auto ended = [this, number](boost::system::error_code code) {
    wake_with([this, number, code] { batch_ended(number, code); });
  };
  if (group.empty()) return ended({});
  devices_.launch(rank_, on, std::move(group), ended);
  if (has_launch_timeout_) watch(number);
}

void virtual_launch_thread::watch(std::uint64_t number) {
  world_.time.after(launch_timeout, [this, number] {
    const auto found = launched_.find(number);
    if (is_stopped_ || found == launched_.end() || follower_.failure_of(found->second.on) != nullptr) return;
    follower_.failed_here(found->second.on, errc::transfer_aborted);
    abort(found->second.on);
    wake_with([] {});
  });
}

// It may wait for a rank that is lost.
void virtual_launch_thread::watch_set_up(protocol::communicator_id on) {
  ++set_ups_;
  if (!has_set_up_timeout_) return;
  world_.time.after(set_up_timeout, [this, on, watched = set_ups_] {
    if (!is_stopped_ && watched == set_ups_ && follower_.is_setting_up()) abort(on);
  });
}

void virtual_launch_thread::add_operation(std::uint64_t number, std::vector<virtual_devices::operation>& group,
                                          const protocol::transfer& one, bool sending) {
  const protocol::operation_id id = sending ? one.send : one.receive;
  const auto found = published_.find(id);
  if (found == published_.end()) return;  // taken back: the other end waits for it
  buffer* const memory = found->second;
  published_.erase(found);
  const int peer = sending ? one.destination : one.source;
  if (const auto absence = follower_.absence(peer, number)) return to_.transferred(id, *absence);
  launched_batch& launched = launched_[number];
  if (const auto failure = follower_.failure_for(launched.on, peer)) return to_.transferred(id, *failure);
  group.push_back({peer, sending, memory});
  launched.names.push_back(id);
}

void virtual_launch_thread::batch_ended(std::uint64_t number, boost::system::error_code code) {
  world_.note(rank_, code ? "has given up entry " : "has finished entry ", number);
  const auto node = launched_.extract(number);
  for (const protocol::operation_id name : node.mapped().names) to_.transferred(name, code);
  follower_.batch_ended(node.mapped().on);
  to_.report(finished{number});
}

}  // namespace weft::simulation
