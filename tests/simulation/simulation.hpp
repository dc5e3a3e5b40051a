// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocol/group_splits.hpp"

#include "program.hpp"
#include "virtual_devices.hpp"
#include "virtual_launch_thread.hpp"
#include "virtual_rank.hpp"
#include "virtual_sequencer.hpp"
#include "world.hpp"

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <vector>

namespace weft::simulation {

/// One program on one set of machines, in virtual time.
class simulation {
 public:
  /// `trace`, if not null, is told of everything that happens.
  simulation(const program& what, const setting& how, std::ostream* trace = nullptr);

  /// Runs until nothing happens any more. Throws `violation` where something is not as it must be.
  void run();

 private:
  struct running_strand {
    std::size_t next = 0;  ///< step
    int unfinished = 0;    ///< operations that it has started
    bool planned = false;  ///< its next step is about to be started
  };
  struct running_operation {
    running_strand* by = nullptr;
    const strand* of = nullptr;
    bool started = false;
    bool ended = false;
    boost::system::error_code code{};
    bool given_up = false;  ///< asked to end, because nothing else could happen
  };

  void form_groups();
  void plan_leases();
  void lease_granted(int rank);
  void end_leases();
  void lease_over(int rank);
  void connect(int rank);
  [[nodiscard]] virtual_rank::connections connections_of(int rank);
  void go_on(int rank, running_strand& which, const strand& what);
  void start(int rank, running_strand& which, const strand& what);
  void start_operation(int number, running_strand& by, const strand& of);
  void note_start(const planned_operation& what, bool ready);
  void plan_end(const planned_operation& what);
  void ended(const planned_operation& what, boost::system::error_code code);
  void leave_if_done(int rank);
  void lose(int rank);
  [[nodiscard]] bool is_lost(int rank) const noexcept { return has_lost_ && rank == lost_rank_; }
  void wait_for_readiness(const planned_operation& what);

  [[nodiscard]] bool give_up_what_waits();
  void check_waits_rightly(const planned_operation& what);
  [[nodiscard]] bool is_unready(int number) const;
  void check_ends();
  [[nodiscard]] bool was_aborted(const planned_operation& send) const;
  void check_send(const planned_operation& what);
  void check_leftovers();

  [[nodiscard]] const planned_operation& planned(int number) const {
    return program_.operations[static_cast<std::size_t>(number)];
  }
  [[nodiscard]] running_operation& state_of(int number) { return operations_[static_cast<std::size_t>(number)]; }
  [[nodiscard]] virtual_rank& at(int rank) { return *ranks_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] std::size_t link_index(int from, int to) const {
    return static_cast<std::size_t>(from * program_.ranks() + to);
  }

  const program& program_;
  world world_;
  virtual_devices devices_;
  std::vector<buffer> buffers_;
  std::vector<std::unique_ptr<virtual_launch_thread>> launches_;
  std::vector<std::unique_ptr<virtual_rank>> ranks_;
  std::optional<virtual_sequencer> sequencer_;
  std::vector<protocol::group_number> groups_;
  protocol::group_splits splits_;

  /// Of each rank. The application's kernels of a lease end once all members of the group have come to the same one.
  struct lease_state {
    int open = 0;     ///< asked for and not over
    int granted = 0;  ///< so far
    bool held = false;
  };
  std::vector<lease_state> leases_;
  std::size_t leasing_group_ = 0;  ///< of the program's

  std::vector<fifo_link> links_;        ///< between ranks
  std::vector<fifo_link> reports_;      ///< from a rank's loop to the sequencer
  std::vector<fifo_link> log_reports_;  ///< from a rank's launch thread to the sequencer
  std::vector<fifo_link> news_;         ///< from a rank's launch thread to its loop

  std::vector<std::vector<running_strand>> strands_;
  std::vector<running_operation> operations_;
  std::vector<bool> left_;  ///< ranks that have nothing more to do, and have said so
  int lost_rank_;
  std::uint64_t lost_at_;
  bool has_lost_ = false;  ///< that rank
};

}  // namespace weft::simulation
