// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocol/batch_shape.hpp"
#include "protocol/log_entry.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

namespace weft::protocol {

/// The transfers of one communicator that are matched and not in the log: a queue for each source and destination.
class transfer_lanes {
 public:
  struct taken_transfer {
    transfer what;
    bool first_use;  ///< of this direction between the two ranks
  };

  void add(const transfer& what);

  /// False if that transfer does not wait here.
  bool withdraw(const transfer& what);

  /// Moves what the next batch carries to `taken`: from each lane its first, if `shape` admits it, the longest waiting
  /// lane first. The oldest transfer is therefore always taken, and nothing starves. The time depends on the number of
  /// lanes where something waits, not on how much.
  void take(batch_shape& shape, std::vector<taken_transfer>& taken);

  /// All directions are unused again: another communicator carries what waits.
  void forget_use() noexcept {
    for (lane& one : lanes_) one.used = false;
  }

  [[nodiscard]] bool is_empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

  struct waiting_transfer {
    transfer what;
    std::uint64_t arrival = 0;
    std::uint32_t next = none;
  };
  struct lane {
    int source = -1;
    int destination = -1;
    std::uint32_t first = none;  ///< in `slots_`
    std::uint32_t last = none;
    bool used = false;
  };

  std::uint32_t store(const transfer& what);
  transfer remove(lane& from, std::uint32_t previous, std::uint32_t slot);
  [[nodiscard]] bool is_older(std::uint32_t lane_a, std::uint32_t lane_b) const;
  void reorder(std::uint32_t changed_lane);

  std::unordered_map<std::uint64_t, std::uint32_t> lane_of_;  ///< by source and destination
  std::vector<lane> lanes_;
  std::vector<std::uint32_t> ready_;     ///< lanes that are not empty, the one with the oldest transfer first
  std::vector<std::uint32_t> refilled_;  ///< lanes taken from that are still not empty; kept for its memory
  std::vector<std::uint32_t> merged_;    ///< what `ready_` becomes; kept for its memory
  std::vector<waiting_transfer> slots_;
  std::vector<std::uint32_t> free_slots_;
  std::uint64_t arrivals_ = 0;
  std::size_t size_ = 0;
};

}  // namespace weft::protocol
