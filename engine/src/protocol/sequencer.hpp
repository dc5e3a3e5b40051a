// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocol/batch_shape.hpp"
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
  /// note). Beyond it one is evicted, or else the transfer takes the communicator of its group.
  std::size_t pair_budget = 16;
  /// A pair communicator may be evicted once nothing of it is under way, and that many entries of the log have come
  /// since its last use. Creating one takes about 0.15 s (NVIDIA/nccl#1605): too much to pay for again and again.
  std::uint64_t eviction_patience = 256;
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

  /// A send and a receive belong together. A transfer with a rank that is gone goes to the other one alone, set-ups
  /// included, so that its launch thread fails it by name. A pair takes two different ranks.
  void matched(communicator_kind kind, const transfer& what, outbox& out);

  /// Takes a matched transfer back. False: too late, it is in the log (or never came here).
  bool withdraw(communicator_kind kind, const transfer& what);

  /// A rank's part of a batch is over, whatever the outcome, and so are its parts of the communicator's batches before
  /// it. False, without effect, if it owes no such report.
  bool finished(int rank, std::uint64_t entry, outbox& out);

  /// A communicator has failed at a rank: no other member can use it. What is not in the log yet goes to one that takes
  /// its place. Without effect if another member was earlier. False, without effect, if the rank is no member.
  bool failed(int rank, communicator_id communicator, outbox& out);

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
    std::size_t open_transfers = 0;      ///< pending or unfinished
    std::size_t part = 0;                ///< of the batch being appended: 1 + its place in the outbox, or 0
    std::vector<communicator_id> pairs;  ///< within the budget, which is small
  };
  struct communicator {
    communicator_kind kind = communicator_kind::group;
    group_number group = root_group;  ///< whose it is, if not a pair's
    std::vector<int> members;
    bool created = false;
    bool retired = false;                   ///< it has failed: it only waits for reports
    std::vector<std::uint64_t> unfinished;  ///< batches in the log; at most `max_unfinished_batches`
    std::uint64_t last_use = 0;             ///< the entry
    transfer_lanes pending;

    [[nodiscard]] bool is_idle() const noexcept { return unfinished.empty() && pending.is_empty(); }
  };
  /// What one rank still has to report of a batch.
  struct share {
    int rank;
    std::size_t transfers;
  };
  struct open_batch {
    communicator_id communicator = group_communicator;
    std::vector<share> unreported;

    [[nodiscard]] bool is_owed_by(int rank) const {
      return std::any_of(unreported.begin(), unreported.end(), [=](share one) { return one.rank == rank; });
    }
  };

  [[nodiscard]] rank_state& state_of(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] const rank_state& state_of(int rank) const { return ranks_[static_cast<std::size_t>(rank)]; }
  void count(const transfer& what, bool opened);
  [[nodiscard]] bool is_over(std::uint64_t entry, int reporting);
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
  void evict_pair(communicator_id id, outbox& out);
  void forget_name(communicator_id id);
  void replace(communicator_id id, outbox& out);

  sequencer_limits limits_;
  std::vector<rank_state> ranks_;
  std::unordered_map<communicator_id, communicator> communicators_;
  std::map<std::pair<int, int>, communicator_id> pairs_;             ///< by low and high rank
  std::vector<std::vector<int>> groups_;                             ///< members, by number
  std::vector<std::optional<communicator_id>> group_communicators_;  ///< by number, once they are in use
  std::map<std::uint64_t, open_batch> unfinished_;                   ///< by entry
  std::uint64_t last_entry_ = 0;
  communicator_id next_communicator_ = group_communicator;

  batch_shape shape_;  ///< this and the next: of the batch being formed, kept for their memory
  std::vector<transfer_lanes::taken_transfer> taken_;
};

}  // namespace weft::protocol
