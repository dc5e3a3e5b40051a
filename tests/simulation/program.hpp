// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/engine/route.hpp>

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

/// Programs for a few ranks, made by chance from a seed: what is sent and received, in which groups, in what order it
/// is started, and what is cancelled. A pure description, carried out by the simulator and on real engines alike.
namespace weft::simulation {

/// Sizes are in units: a program that runs on real engines scales them together with the limits below.
inline constexpr std::size_t eager_units = 16;   ///< what the inline route carries at most
inline constexpr std::size_t credit_units = 64;  ///< what a sender may have unmatched of it at one receiver

/// A deadline for operations that may lack a counterpart, in ticks: it passes when nothing else can happen.
inline constexpr int long_limit = 1'000'000;

/// A group in which messages travel: the first is of all ranks, the others were split off.
struct group_plan {
  std::vector<int> members;  ///< world ranks, in the group's order
};

/// Every member of `parent` calls split at the start of the program, in the order of these plans.
struct split_plan {
  struct wish {
    int color = -1;  ///< none if negative
    int key = 0;
    int group = -1;  ///< that it comes to be in, or none
  };
  int parent = 0;
  std::vector<wish> wishes;  ///< by rank in the parent
};

struct planned_operation {
  int number = 0;  ///< its place in `program::operations`: message k is sent by 2k and received by 2k + 1
  int rank = 0;    ///< of the world: whose it is
  bool sending = false;
  int group = 0;
  int peer = 0;  ///< rank in the group; a receive from any source: -1
  std::uint64_t tag = 0;
  bool any_tag = false;
  weft::route via = weft::route::automatic;  ///< of a send
  std::size_t units = 0;
  std::size_t head = 0;        ///< of the units, those that come first; 0: all at once
  bool until_matched = false;  ///< of a send
  int ready_after = -1;        ///< the operation of this rank whose end makes the buffer ready; -1: it always is
  int cancelled_after = -1;    ///< ticks after its start; -1: never
  int limit = -1;              ///< its deadline in ticks after its start; -1: none
  bool left_out = false;       ///< nobody starts it
};

/// The message that it is an end of, by the plan: a receive with a wildcard may get another one.
[[nodiscard]] constexpr int message_of(int operation) noexcept {
  return operation / 2;
}
/// As all texts call it: "send 12" and "receive 12" are the ends of message 12.
[[nodiscard]] std::string name_of(const planned_operation& operation);
std::ostream& operator<<(std::ostream& out, const planned_operation& operation);

/// Operations that are started together, in this order.
struct step {
  std::vector<int> operations;
  bool as_batch = false;  ///< by one call
  bool waits = false;     ///< the strand goes on once everything it has started is over
};

/// What one coroutine does.
using strand = std::vector<step>;

struct program {
  std::uint32_t seed = 0;
  std::vector<group_plan> groups;
  std::vector<split_plan> splits;
  std::vector<planned_operation> operations;
  std::vector<std::vector<strand>> strands;  ///< by rank

  /// Whether operations are cancelled, run into deadlines, or may lack a counterpart. If so, all have a deadline, and
  /// any may end as `cancelled` or `timed_out`. If not, all succeed.
  bool provokes_ends = false;
  /// Whether sizes of a message and its receive may differ: `size_mismatch` at both ends.
  bool provokes_mismatches = false;
  /// Whether operations have buffers that become ready later.
  bool has_unready = false;
  /// Whether sends by the inline route have to be over before their receives are started. Then they are not from memory
  /// of a GPU, which is not ready at once.
  bool relies_on_credit = false;

  [[nodiscard]] int ranks() const noexcept { return static_cast<int>(strands.size()); }
  /// The world rank of a rank in a group.
  [[nodiscard]] int world_rank(int group, int rank) const {
    return groups[static_cast<std::size_t>(group)].members[static_cast<std::size_t>(rank)];
  }
  /// Whether the message of `send` satisfies `receive`, of the same world rank that it is sent to.
  [[nodiscard]] bool satisfies(const planned_operation& send, const planned_operation& receive) const;
};

struct program_shape {
  int ranks = 4;
  int messages = 40;          ///< about as many
  bool with_unready = false;  ///< buffers that become ready later
  bool with_heads = false;    ///< messages that come in two parts
};

[[nodiscard]] program make_program(std::uint32_t seed, const program_shape& shape);

}  // namespace weft::simulation
