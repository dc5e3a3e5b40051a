// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocol/actions.hpp"
#include "protocol/group_splits.hpp"
#include "protocol/lease_wishes.hpp"
#include "protocol/sequencer.hpp"
#include "virtual_launch_thread.hpp"
#include "world.hpp"

#include <functional>
#include <utility>
#include <vector>

namespace weft::simulation {

/// The sequencer with its links: one up and one down to each launch thread for the log, and the same to each rank's
/// loop for matches.
class virtual_sequencer {
 public:
  struct connections {
    std::function<void(int rank, const from_sequencer&)> log;
    std::function<void(int rank, protocol::operation_id receive, bool granted)> answer;
    std::function<void(int rank)> lease_failed;
  };

  virtual_sequencer(world& all, const protocol::group_splits& groups, const setting& how, connections to)
      : world_(all),
        sequencer_(how.ranks, {.pair_budget = how.pair_budget, .eviction_patience = how.eviction_patience}),
        lease_wishes_(groups, how.ranks),
        to_(std::move(to)),
        down_(static_cast<std::size_t>(how.ranks), fifo_link(all.time)),
        answers_(down_) {}

  void add_group(protocol::group_number group, std::vector<int> members) {
    sequencer_.add_group(group, std::move(members));
  }

  void matched(const protocol::match& what) {
    world_.note(what.destination, "match reported: ", what.source, " to ", what.destination);
    sequencer_.matched(kind_of(what), transfer_of(what), out_);
    distribute();
  }

  void withdraw(const protocol::match& what) {
    const bool granted = sequencer_.withdraw(kind_of(what), transfer_of(what));
    world_.note(what.destination, "match taken back: ", granted ? "granted" : "too late");
    answers_[static_cast<std::size_t>(what.destination)].send(
        [this, what, granted] { to_.answer(what.destination, what.receive, granted); });
  }

  void ask_lease(int rank, protocol::group_number group, std::uint64_t name) {
    std::vector<protocol::lease_wish> complete;
    if (!lease_wishes_.ask(rank, group, name, complete, failed_leases_))
      throw violation("protocol: a rank may not lease its device");
    if (!complete.empty()) sequencer_.lease_devices(complete, out_);
    distribute();
  }

  void hear(int rank, const to_sequencer& message) {
    if (const auto* report = std::get_if<finished>(&message))
      (void)sequencer_.finished(rank, report->entry, out_);
    else if (const auto* shown = std::get_if<identity>(&message))
      pass_on(rank, *shown);
    else if (std::holds_alternative<leaving>(message))
      rank_leaves(rank);
    else if (!sequencer_.failed(rank, std::get<failed>(message).communicator, out_))
      throw violation("protocol: a rank reports on a communicator of others");
    distribute();
  }

  /// The link of its launch thread has ended.
  void lose(int rank) {
    for (int other = 0; other < static_cast<int>(down_.size()); ++other)
      if (other != rank) send(other, gone{rank});
    sequencer_.rank_gone(rank, out_);
    lease_wishes_.rank_gone(rank, errc::peer_lost, failed_leases_);
    distribute();
  }

  [[nodiscard]] const protocol::sequencer& state() const noexcept { return sequencer_; }

 private:
  static protocol::communicator_kind kind_of(const protocol::match& what) {
    return what.route == route::pair ? protocol::communicator_kind::pair : protocol::communicator_kind::group;
  }
  static protocol::transfer transfer_of(const protocol::match& what) {
    return {what.source, what.destination, what.send, what.receive, what.bytes, what.group};
  }

  void send(int rank, const from_sequencer& message) {
    down_[static_cast<std::size_t>(rank)].send([this, rank, message] { to_.log(rank, message); });
  }
  void pass_on(int from, const identity& shown) {
    const auto others = sequencer_.identified(from, shown.communicator);
    if (!others) throw violation("protocol: another rank shows a unique id");
    for (const int member : *others) send(member, shown);
  }
  void rank_leaves(int rank) {
    sequencer_.rank_leaves(rank, out_);
    lease_wishes_.rank_gone(rank, errc::peer_left, failed_leases_);
  }
  void distribute() {
    for (const auto& [rank, entry] : std::exchange(out_, {})) send(rank, entry);
    for (const protocol::lease_answer& one : std::exchange(failed_leases_, {}))
      answers_[static_cast<std::size_t>(one.rank)].send([this, rank = one.rank] { to_.lease_failed(rank); });
  }

  world& world_;
  protocol::sequencer sequencer_;
  protocol::lease_wishes lease_wishes_;
  connections to_;
  std::vector<fifo_link> down_;
  std::vector<fifo_link> answers_;
  protocol::outbox out_;
  std::vector<protocol::lease_answer> failed_leases_;
};

}  // namespace weft::simulation
