// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocol/log_follower.hpp"
#include "protocol/operation_table.hpp"
#include "virtual_devices.hpp"
#include "world.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <unordered_map>
#include <variant>
#include <vector>

namespace weft::simulation {

/// What the sequencer says to a launch thread, and the other way round.
/// @{
struct identity {
  protocol::communicator_id communicator;
};
struct finished {
  std::uint64_t entry;
};
struct failed {
  protocol::communicator_id communicator;
};
struct gone {
  int rank;  ///< lost
};
using from_sequencer = std::variant<protocol::log_entry, identity, gone>;
struct leaving {};
using to_sequencer = std::variant<finished, identity, failed, leaving>;
/// @}

/// Carries out the log of one rank, by the same follower as the engine's launch thread. It wakes late.
class virtual_launch_thread {
 public:
  struct connections {
    std::function<void(const to_sequencer&)> report;
    std::function<void(protocol::operation_id, boost::system::error_code)> transferred;
    std::function<void()> lent;  ///< the device
  };

  virtual_launch_thread(world& all, virtual_devices& devices, const setting& how, int rank, connections to);

  // From the rank's loop.
  void publish(protocol::operation_id id, buffer& memory) { published_[id] = &memory; }
  bool revoke(protocol::operation_id id) { return published_.erase(id) != 0; }

  /// The device is given back that was lent.
  void end_lease();

  /// This rank has nothing more to do with others.
  void leave() { to_.report(leaving{}); }
  /// This rank is lost: it does nothing any more.
  void stop() { is_stopped_ = true; }
  /// The log's link has brought something.
  void hear(const from_sequencer& message);

  [[nodiscard]] bool is_idle() const noexcept {
    return inbox_.empty() && follower_.waiting() == 0 && !follower_.is_setting_up() && published_.empty();
  }

 private:
  using news = std::function<void()>;
  struct launched_batch {
    protocol::communicator_id on = 0;
    std::vector<protocol::operation_id> names;
  };

  void wake_with(news what);
  void wake();
  void take(const from_sequencer& message);
  void advance();
  void lend();
  void create(protocol::communicator_id on, const protocol::create& what, virtual_devices::callback ended);
  void issue(protocol::communicator_id on, std::uint64_t number, const protocol::batch& what);
  void add_operation(std::uint64_t number, std::vector<virtual_devices::operation>& group,
                     const protocol::transfer& one, bool sending);
  void watch(std::uint64_t number);
  void watch_set_up(protocol::communicator_id on);
  void rank_gone(int rank);
  void set_up_ended(boost::system::error_code code);
  void batch_ended(std::uint64_t number, boost::system::error_code code);
  void abort(protocol::communicator_id on);

  world& world_;
  virtual_devices& devices_;
  int rank_;
  connections to_;
  protocol::log_follower follower_;
  std::unordered_map<protocol::operation_id, buffer*> published_;
  std::map<std::uint64_t, launched_batch> launched_;
  bool has_launch_timeout_;
  bool has_set_up_timeout_;
  std::uint64_t set_ups_ = 0;  ///< begun
  std::vector<news> inbox_;
  bool wake_planned_ = false;
  bool is_stopped_ = false;
};

}  // namespace weft::simulation
