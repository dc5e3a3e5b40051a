// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocol/batch_shape.hpp"
#include "protocol/log_entry.hpp"
#include "protocol/transfer_lanes.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

namespace weft::protocol {

/// Batches of one communicator in the log that its ranks have not finished: one runs while the next stands behind it,
/// so that the device does not wait for a report to travel here and back. What matches meanwhile makes a larger batch.
/// Without a limit every transfer would be a batch of its own, and in simulation took 5 to 10 times as long.
inline constexpr int max_unfinished_batches = 2;

/// Puts the matched transfers of a group into one order that all of its ranks share: one log for all communicators.
/// There is one sequencer in a group. Pure: events come in by call, entries are appended to an outbox of the caller.
///
/// Nothing that follows the log can deadlock: all ranks of the lowest unfinished entry have finished whatever stands
/// before it, so nothing keeps them from carrying it out.
///
/// Ranks given must be of the group.
class sequencer {
 public:
  explicit sequencer(int ranks);

  /// A group that was split off; its communicator is created on first use. Groups are numbered 1, 2, ...
  void add_group(group_number group, std::vector<int> members);

  /// A send and a receive belong together. A transfer with a rank that is gone goes to the other one alone, set-ups
  /// included, so that its launch thread fails it by name. A pair takes two different ranks.
  void matched(communicator_kind kind, const transfer& what, outbox& out);

  /// Takes a matched transfer back. False: too late, it is in the log (or never came here).
  bool withdraw(communicator_kind kind, const transfer& what);

  /// A rank's part of a batch is over, whatever the outcome. False, without effect, if it owes no such report.
  bool finished(int rank, std::uint64_t entry, outbox& out);

  /// A rank was lost or has left: it counts as having finished everything, and receives nothing more.
  void rank_gone(int rank, outbox& out);

  /// Nothing waits and nothing is unfinished.
  [[nodiscard]] bool idle() const noexcept { return unfinished_.empty(); }
  /// The same, for the transfers of one rank; a rank that is gone has none.
  [[nodiscard]] bool drained(int rank) const { return state_of(rank).open_transfers == 0; }

  /// Batches of that communicator in the log that are not finished.
  [[nodiscard]] int unfinished_batches(communicator_id communicator) const;
  /// Transfers of that communicator that are not in the log.
  [[nodiscard]] std::size_t pending_transfers(communicator_id communicator) const;
  /// In order of rank; none where there is no such communicator yet.
  [[nodiscard]] std::span<const int> members(communicator_id communicator) const;

 private:
  struct rank_state {
    bool gone = false;
    std::size_t open_transfers = 0;  ///< pending or unfinished
    std::size_t part = 0;            ///< of the batch being appended: 1 + its place in the outbox, or 0
  };
  struct communicator {
    communicator_kind kind = communicator_kind::group;
    std::vector<int> members;
    bool created = false;
    int unfinished = 0;
    transfer_lanes pending;
  };
  /// What one rank still has to report of a batch.
  struct share {
    int rank;
    std::size_t transfers;
  };
  struct open_batch {
    communicator_id communicator = group_communicator;
    std::vector<share> unreported;
  };

  [[nodiscard]] rank_state& state_of(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] const rank_state& state_of(int rank) const { return ranks_[static_cast<std::size_t>(rank)]; }
  communicator_id open(communicator_kind kind, const transfer& what);
  communicator_id open_group(group_number group);
  communicator_id open_pair(const transfer& what);
  void count(const transfer& what, bool opened);
  void append_batches(communicator_id id, outbox& out);
  void drop_orphans();
  void append_set_ups(communicator_id id, outbox& out);
  void append_batch(communicator_id id, outbox& out);
  void append_part(int rank, communicator_id id, const transfer& what, outbox& out);

  std::vector<rank_state> ranks_;
  std::vector<communicator> communicators_;                   ///< by id
  std::unordered_map<std::uint64_t, communicator_id> pairs_;  ///< by low and high rank
  std::vector<std::vector<int>> groups_;                      ///< members, by number
  std::vector<communicator_id> group_communicators_;          ///< by number; `group_communicator` until it is opened
  std::map<std::uint64_t, open_batch> unfinished_;            ///< by entry
  std::uint64_t last_entry_ = 0;

  batch_shape shape_;  ///< this and the next: of the batch being formed, kept for their memory
  std::vector<transfer_lanes::taken_transfer> taken_;
};

}  // namespace weft::protocol
