// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocol/batch_shape.hpp"
#include "protocol/lease_wishes.hpp"
#include "protocol/log_entry.hpp"
#include "protocol/transfer_lanes.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace weft::protocol {

/// Batches of one communicator in the log that its ranks have not finished: one runs while the next stands behind it,
/// so that the device does not wait for a report to travel here and back. What matches meanwhile makes a larger batch.
/// Without a limit every transfer would be a batch of its own, and in simulation took 5 to 10 times as long.
inline constexpr std::size_t max_unfinished_batches = 2;

struct sequencer_limits {
  /// Pair communicators that a rank has at a time: each takes some 50 MB of a GPU's memory at 8 channels (vLLM's own
  /// note). Beyond what there is room for, one is evicted, or else the transfer takes the communicator of its group.
  std::size_t pair_budget = 16;
  /// Memory of a rank's device for them, and what one of them takes: 0 where nobody counts it.
  /// @{
  std::size_t pair_budget_bytes = 0;
  std::size_t pair_bytes = 0;
  /// @}
  /// A pair communicator may be evicted once nothing of it is under way, and that many entries of the log have come
  /// since its last use. Creating one takes about 0.15 s (NVIDIA/nccl#1605): too much to pay for again and again.
  std::uint64_t eviction_patience = 256;

  /// What both budgets have room for.
  [[nodiscard]] std::size_t most_pairs() const noexcept {
    return pair_bytes == 0 ? pair_budget : std::min(pair_budget, pair_budget_bytes / pair_bytes);
  }
};

/// Puts the matched transfers of a group into one order that all of its ranks share: one log for all communicators.
/// There is one sequencer in a group. Pure: events come in by call, entries are appended to an outbox of the caller.
///
/// Nothing that follows the log can deadlock: all ranks of the lowest unfinished entry have finished whatever stands
/// before it, so nothing keeps them from carrying it out.
///
/// Ranks given must be of the group. `sequencer.cpp` has the events, `sequencer_communicators.cpp` which communicator
/// carries what.
class sequencer {
 public:
  explicit sequencer(int ranks, const sequencer_limits& limits = {});

  /// A group that was split off; its communicator is created on first use. Groups are numbered 1, 2, ...
  void add_group(group_number group, std::vector<int> members);

  /// A send and a receive belong together. A transfer with a rank that is gone goes to the other one alone, without
  /// set-ups, so that its launch thread fails it by name. A pair takes two different ranks.
  void matched(communicator_kind kind, const transfer& what, outbox& out);

  /// Takes a matched transfer back. False: too late, it is in the log (or never came here).
  bool withdraw(communicator_kind kind, const transfer& what);

  /// A rank wants its pair communicator with another one made and connected before it is used. Each wish is answered
  /// once, by `take_answers`.
  void reserve(int rank, int peer, outbox& out);
  [[nodiscard]] std::vector<reservation_answer> take_answers() { return std::exchange(answers_, {}); }

  /// All members of a group want to have their devices for themselves. Each member goes on with the log when it has its
  /// device back, which nobody else needs to know.
  void lease_devices(std::span<const lease_wish> wishes, outbox& out);

  /// A rank's part of a batch or eviction is over, whatever the outcome, and so are those of the communicator before
  /// it. False, without effect, if it owes no such report.
  bool finished(int rank, std::uint64_t entry, outbox& out);

  /// A communicator has failed at a rank: no other member can use it. What is not in the log yet goes to one that takes
  /// its place. Without effect if another member was earlier. False, without effect, if the rank is no member.
  bool failed(int rank, communicator_id communicator, outbox& out);

  /// A rank shows the unique id of a communicator: those whose `create` waits for it. Nothing if the rank is not the
  /// one to make it, or has shown it before.
  [[nodiscard]] std::optional<std::vector<int>> identified(int rank, communicator_id communicator);

  /// A rank has carried out all that the log had for it, and leaves: the communicators that it is in are destroyed at
  /// all members, itself included, and others take their place. Then it is gone. (A communicator must not be destroyed
  /// at one end alone: the other one may still be reading from that one's memory.)
  void rank_leaves(int rank, outbox& out);

  /// A rank was lost or has left: it counts as having finished everything, and receives nothing more.
  void rank_gone(int rank, outbox& out);

  /// Nothing waits and nothing is unfinished.
  [[nodiscard]] bool idle() const noexcept { return unfinished_.empty(); }
  /// The same, for the transfers of one rank; a rank that is gone has none.
  [[nodiscard]] bool drained(int rank) const { return state_of(rank).open_transfers == 0; }

  /// Batches of that communicator in the log that are not finished.
  [[nodiscard]] std::size_t unfinished_batches(communicator_id communicator) const;
  /// Transfers of that communicator that are not in the log.
  [[nodiscard]] std::size_t pending_transfers(communicator_id communicator) const;
  /// In order of rank; none where there is no such communicator, not yet or not any more.
  [[nodiscard]] std::span<const int> members(communicator_id communicator) const;
  /// Pair communicators of a rank.
  [[nodiscard]] std::size_t pairs_of(int rank) const { return state_of(rank).pairs.size(); }

 private:
  struct rank_state {
    bool gone = false;
    bool left = false;                   ///< is gone, or about to be, and has said so
    std::size_t open_transfers = 0;      ///< pending or unfinished
    std::size_t part = 0;                ///< of the batch being appended: 1 + its place in the outbox, or 0
    std::vector<communicator_id> pairs;  ///< within the budget, which is small
  };
  struct communicator {
    communicator_kind kind = communicator_kind::group;
    group_number group = root_group;  ///< whose it is, if not a pair's
    std::vector<int> members;
    bool created = false;
    bool retired = false;                   ///< nothing more is appended for it: it only waits for reports
    bool aborted = false;                   ///< its members know that it has failed
    std::vector<std::uint64_t> unfinished;  ///< batches in the log, and its eviction
    std::uint64_t last_use = 0;             ///< the entry
    transfer_lanes pending;

    [[nodiscard]] bool is_idle() const noexcept { return unfinished.empty() && pending.is_empty(); }
  };
  /// What one rank still has to report of a batch.
  struct share {
    int rank;
    std::size_t transfers;
  };
  /// A batch, or an eviction.
  struct open_entry {
    communicator_id communicator = group_communicator;
    std::vector<share> unreported;
    std::vector<reservation_answer> reservations;  ///< that end with it

    [[nodiscard]] bool is_owed_by(int rank) const {
      return std::any_of(unreported.begin(), unreported.end(), [=](share one) { return one.rank == rank; });
    }
  };

  [[nodiscard]] rank_state& state_of(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] const rank_state& state_of(int rank) const { return ranks_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] bool both_are_there(const transfer& what) const {
    return !state_of(what.source).gone && !state_of(what.destination).gone;
  }
  void count(const transfer& what, bool opened);
  [[nodiscard]] bool is_over(std::uint64_t entry, int reporting);
  [[nodiscard]] std::vector<reservation_answer> take_reservations();
  [[nodiscard]] reservation_end departure_of(int rank) const {
    return state_of(rank).left ? reservation_end::peer_left : reservation_end::peer_lost;
  }
  void answer(std::vector<reservation_answer> ended, bool has_failed);
  void append_batches(communicator_id id, outbox& out);
  void drop_orphans();
  void append_set_ups(communicator_id id, outbox& out);
  void append_batch(communicator_id id, outbox& out);
  void append_part(int rank, communicator_id id, const transfer& what, outbox& out);
  void append_to_members(communicator_id id, const log_entry& entry, outbox& out);

  communicator_id open(communicator_kind kind, const transfer& what, outbox& out);
  communicator_id open_group(group_number number);
  [[nodiscard]] std::optional<communicator_id> open_pair(int low, int high, outbox& out);
  communicator& add_communicator(communicator_kind kind, group_number group, std::vector<int> members);
  [[nodiscard]] bool make_room(int low, int high, outbox& out);
  [[nodiscard]] std::optional<communicator_id> least_used_pair(int rank) const;
  [[nodiscard]] std::vector<communicator_id> communicators_of(int rank) const;
  void forget_name(communicator_id id);
  void forget(int rank, outbox& out);
  void append_abort(communicator_id id, outbox& out);
  void append_evict(communicator_id id, outbox& out);
  void replace(communicator_id id, outbox& out);

  sequencer_limits limits_;
  std::vector<rank_state> ranks_;
  std::unordered_map<communicator_id, communicator> communicators_;
  std::map<std::pair<int, int>, communicator_id> pairs_;                ///< by low and high rank
  std::vector<std::vector<int>> groups_;                                ///< members, by number
  std::vector<std::optional<communicator_id>> group_communicators_;     ///< by number, once they are in use
  std::map<std::uint64_t, open_entry> unfinished_;                      ///< by entry
  std::unordered_map<communicator_id, std::vector<int>> unidentified_;  ///< members, of those that are being created
  /// Wishes that are in no batch yet, by low and high rank.
  struct reservation {
    std::vector<reservation_answer> answers;
    std::size_t connections = 0;  ///< that are to be in a batch before they are
  };
  std::map<std::pair<int, int>, reservation> reservations_;
  std::vector<reservation_answer> answers_;
  std::uint64_t last_entry_ = 0;
  communicator_id next_communicator_ = group_communicator;

  batch_shape shape_;  ///< this and the next: of the batch being formed, kept for their memory
  std::vector<transfer_lanes::taken_transfer> taken_;
};

}  // namespace weft::protocol
