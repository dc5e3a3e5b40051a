// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace weft::protocol {

/// Deliberate faults, each a mistake that is easily made. The simulator is compiled with them, and has to find each
/// one; everywhere else they are constants that are false.
enum class mutation : std::uint8_t {
  none,
  group_by_timing,       ///< a launch thread makes one group of what has arrived, instead of what the log says
  log_per_communicator,  ///< launch threads keep to the order within each communicator only
  no_gate,               ///< any number of communicators may have unfinished groups
  readiness_on_stream,   ///< a buffer's readiness is waited for by the device, not before the match is reported
  no_caps,               ///< a batch takes all that is matched
  evict_by_own_choice,   ///< a rank destroys the pair communicator that it has not used for longest
  forget_on_cancel,      ///< a sender that cancels does not ask its receiver
  withdraw_from_log,     ///< the sequencer takes back what is in the log already
  wildcard_overtakes,    ///< a receive with a wildcard takes the latest message, of all lanes
  leak_credit,           ///< credit is not given back
  await_lost,            ///< the sequencer waits for the reports of a rank that is lost
  lease_alone,           ///< each member of a group has its lease when it asks, not when all do
  lease_beside_groups,   ///< a lease is granted while groups are unfinished
  requeue_at_end,        ///< a message whose receive was withdrawn goes behind all others, of all lanes
};

#ifdef WEFT_WITH_MUTATIONS
inline mutation active_mutation = mutation::none;
[[nodiscard]] inline bool is_mutated(mutation which) noexcept {
  return active_mutation == which;
}
#else
[[nodiscard]] constexpr bool is_mutated(mutation) noexcept {
  return false;
}
#endif

}  // namespace weft::protocol
