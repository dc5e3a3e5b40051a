// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "program.hpp"
#include "world.hpp"

#include <array>
#include <cstdint>
#include <set>
#include <string_view>
#include <utility>

namespace weft::simulation {

/// What makes a program, or the machines that it runs on, less plain than it might be.
enum class feature : std::uint8_t {
  cancels,        ///< operations that are cancelled
  deadlines,      ///< ... that have a deadline which may pass early
  unready,        ///< ... whose buffers become ready later
  batches,        ///< ... that are started together: each is a step of its own
  waits,          ///< coroutines that wait for what they have started
  evictions,      ///< a budget of pair communicators
  stuck_groups,   ///< groups on devices that never end
  quiet_set_ups,  ///< set-ups that wait until devices are quiet
  leases,         ///< of devices, by all members of some group
  loss,           ///< of a rank
  idle_ranks,     ///< ranks that are left with nothing to do; those that stay are numbered again
};

/// As the command line calls them.
inline constexpr std::array<std::pair<std::string_view, feature>, 11> features{{
    {"cancels", feature::cancels},
    {"deadlines", feature::deadlines},
    {"unready", feature::unready},
    {"batches", feature::batches},
    {"waits", feature::waits},
    {"evictions", feature::evictions},
    {"stuck-groups", feature::stuck_groups},
    {"quiet-set-ups", feature::quiet_set_ups},
    {"leases", feature::leases},
    {"loss", feature::loss},
    {"idle-ranks", feature::idle_ranks},
}};

/// What a run does without: messages, both ends of each, and features.
struct omissions {
  std::set<int> messages;
  std::set<feature> features;
};

/// What is left is a program of the same kind: where no ends are provoked, all that is left ends with success. Throws
/// `std::invalid_argument` for a message that the program does not have.
void leave_out(const omissions& what, program& from, setting& how);

}  // namespace weft::simulation
