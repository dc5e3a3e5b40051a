// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocol/sequencer.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <variant>
#include <vector>

namespace weft::testing {

using namespace weft::protocol;

inline constexpr auto group = communicator_kind::group;
inline constexpr auto pair = communicator_kind::pair;

inline transfer between(int source, int destination, std::uint64_t id = 1) {
  return {.source = source, .destination = destination, .send = id, .receive = id + 1'000, .bytes = 64};
}

/// A sequencer and what it has appended, by rank.
class sequencer_fixture {
 public:
  explicit sequencer_fixture(int ranks, const sequencer_limits& limits = {})
      : sequencer_(ranks, limits), logs_(static_cast<std::size_t>(ranks)) {}

  void match(communicator_kind kind, const transfer& what) {
    sequencer_.matched(kind, what, out_);
    deliver();
  }
  bool finish(int rank, std::uint64_t entry) {
    const bool accepted = sequencer_.finished(rank, entry, out_);
    deliver();
    return accepted;
  }
  /// Every rank reports its part.
  void finish_everywhere(std::uint64_t entry) {
    for (int rank = 0; rank < static_cast<int>(logs_.size()); ++rank) (void)finish(rank, entry);
  }
  bool fail(int rank, communicator_id communicator) {
    const bool accepted = sequencer_.failed(rank, communicator, out_);
    deliver();
    return accepted;
  }
  void reserve(int rank, int peer) {
    sequencer_.reserve(rank, peer, out_);
    deliver();
  }
  void lease_devices(const std::vector<lease_wish>& wishes) {
    sequencer_.lease_devices(wishes, out_);
    deliver();
  }
  void leave(int rank) {
    sequencer_.rank_leaves(rank, out_);
    deliver();
  }
  void lose(int rank) {
    sequencer_.rank_gone(rank, out_);
    deliver();
  }

  [[nodiscard]] const std::vector<log_entry>& log(int rank) const { return logs_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] std::vector<log_entry> batches(int rank) const {
    std::vector<log_entry> found;
    std::copy_if(log(rank).begin(), log(rank).end(), std::back_inserter(found),
                 [](const log_entry& one) { return std::holds_alternative<batch>(one.content); });
    return found;
  }
  sequencer& subject() { return sequencer_; }

 private:
  void deliver() {
    for (auto& [rank, entry] : out_) logs_[static_cast<std::size_t>(rank)].push_back(std::move(entry));
    out_.clear();
  }

  sequencer sequencer_;
  outbox out_;
  std::vector<std::vector<log_entry>> logs_;
};

// By value: most entries that it is asked about are temporaries.
inline std::vector<transfer> transfers(const log_entry& entry) {
  return std::get<batch>(entry.content).transfers;
}

/// Fills both places of the group's communicator in the log, so that what matches next has to wait.
inline void occupy(sequencer_fixture& all) {
  all.match(group, between(0, 1, 501));
  all.match(group, between(0, 1, 502));
}

}  // namespace weft::testing
