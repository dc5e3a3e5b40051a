// SPDX-License-Identifier: Apache-2.0
#include "virtual_launch_thread.hpp"

#include <utility>

namespace weft::simulation {

virtual_launch_thread::virtual_launch_thread(world& all, virtual_devices& devices, const setting& how, int rank,
                                             connections to)
    : world_(all), devices_(devices), rank_(rank), to_(std::move(to)), follower_(rank, how.residency) {}

void virtual_launch_thread::hear(const from_sequencer& message) {
  wake_with([this, message] { take(message); });
}

void virtual_launch_thread::wake_with(news what) {
  inbox_.push_back(std::move(what));
  if (!std::exchange(wake_planned_, true)) world_.time.after_some_delay([this] { wake(); });
}

void virtual_launch_thread::wake() {
  wake_planned_ = false;
  for (const news& one : std::exchange(inbox_, {})) one();
  advance();
}

void virtual_launch_thread::take(const from_sequencer& message) {
  if (const auto* shown = std::get_if<identity>(&message))
    follower_.identity_arrived(shown->communicator);
  else
    follower_.append(std::get<protocol::log_entry>(message));
}

void virtual_launch_thread::advance() {
  while (const auto entry = follower_.next()) {
    const auto on = entry->communicator;
    const auto ended = [this] { wake_with([this] { set_up_ended(); }); };
    if (const auto* creation = std::get_if<protocol::create>(&entry->content)) {
      create(*entry, *creation);
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
}

void virtual_launch_thread::create(const protocol::log_entry& entry, const protocol::create& what) {
  world_.note(rank_, "creates communicator ", entry.communicator);
  if (what.members.front() == rank_) to_.report(identity{entry.communicator});
  devices_.create(rank_, entry.communicator, what.members, [this] { wake_with([this] { set_up_ended(); }); });
}

void virtual_launch_thread::set_up_ended() {
  (void)follower_.set_up_ended({});
}

void virtual_launch_thread::issue(protocol::communicator_id on, std::uint64_t number, const protocol::batch& what) {
  std::vector<virtual_devices::operation> group;
  std::vector<protocol::operation_id> names;
  for (const protocol::transfer& one : what.transfers) {
    if (one.source == rank_) add_operation(group, names, one, true);
    if (one.destination == rank_) add_operation(group, names, one, false);
  }
  world_.note(rank_, "launches entry ", number, " with ", group.size(), " operations on ", on);
  devices_.launch(rank_, on, std::move(group),
                  [this, on, number, names] { wake_with([this, on, number, names] { batch_ended(on, number, names); }); });
}

void virtual_launch_thread::add_operation(std::vector<virtual_devices::operation>& group,
                                          std::vector<protocol::operation_id>& names, const protocol::transfer& one,
                                          bool sending) {
  const protocol::operation_id id = sending ? one.send : one.receive;
  const auto found = published_.find(id);
  // Nobody is lost here, and nobody closes: whoever is in the log has to be there.
  if (found == published_.end())
    throw violation("protocol: rank " + std::to_string(rank_) + " has taken back an operation that is in the log");
  group.push_back({sending ? one.destination : one.source, sending, found->second});
  names.push_back(id);
  published_.erase(found);
}

void virtual_launch_thread::batch_ended(protocol::communicator_id on, std::uint64_t number,
                                        const std::vector<protocol::operation_id>& names) {
  world_.note(rank_, "has finished entry ", number);
  for (const protocol::operation_id name : names) to_.transferred(name, {});
  follower_.batch_ended(on);
  to_.report(finished{number});
}

}  // namespace weft::simulation
