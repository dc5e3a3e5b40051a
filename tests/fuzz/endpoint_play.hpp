// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fuzz_input.hpp"
#include "scripts.hpp"

#include "simulated_rank.hpp"

#include <array>
#include <map>
#include <set>
#include <vector>

namespace weft::fuzz {

/// Rank 0 of four, whose own users, sequencer and launch thread are honest, while its peers say whatever the input
/// says. A peer that breaks the protocol is lost, as an engine loses it.
class endpoint_play {
 public:
  static constexpr int ranks = 4;

  endpoint_play();

  /// Does what the input says to its end; then all others go, and so every operation must end.
  void run(fuzz_input& input);

 private:
  using result = testing::operation_result;

  void perform(endpoint_step what, fuzz_input& input);
  void perform_own(endpoint_step what, fuzz_input& input);
  void perform_peers(endpoint_step what, int peer, fuzz_input& input);
  void perform_logs(endpoint_step what, fuzz_input& input);
  void finish();

  [[nodiscard]] const result* choose(fuzz_input& input) const;
  [[nodiscard]] protocol::operation_id choose_name(fuzz_input& input) const;
  void deliver(int peer, const testing::packet& arrived);
  void take_output();
  void take_reports();
  void transfer(std::size_t index, boost::system::error_code code);
  [[nodiscard]] bool may_launch(protocol::operation_id id) const;

  testing::simulated_rank rank_;
  std::vector<protocol::operation_id> launched_;  ///< with the launch thread, which will say how they end
  std::vector<protocol::operation_id> asked_;     ///< receives whose matches are wanted back
  std::set<protocol::operation_id> to_self_;      ///< sends
  std::map<protocol::operation_id, protocol::operation_id> own_matches_;  ///< with them, by receive
  std::set<protocol::operation_id> in_log_;                               ///< receives, whose matches are
  bool has_log_ = true;
  std::array<std::uint64_t, ranks> lent_{};   ///< inline payload that each peer was sent and has not given back
  std::array<std::uint64_t, ranks> taken_{};  ///< the same the other way round
};

}  // namespace weft::fuzz
