// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

/// The entries of a group's log. Each rank receives those that concern it and carries them out strictly in order.
namespace weft::protocol {

using communicator_id = std::uint32_t;

/// Names a group: the one that all ranks joined, or one that was split off.
using group_number = std::uint64_t;
inline constexpr group_number root_group = 0;

/// The first communicator of all ranks. All others are numbered 1, 2, ... in the order of their first use; a number is
/// not used again.
inline constexpr communicator_id group_communicator = 0;

enum class communicator_kind : std::uint8_t {
  group,  ///< of all ranks of a group
  pair,   ///< of two ranks alone
};

/// A matched pair of operations: what the log carries out.
struct transfer {
  int source = -1;
  int destination = -1;
  std::uint64_t send = 0;     ///< the source's name for its operation
  std::uint64_t receive = 0;  ///< the destination's name for its own
  std::uint64_t bytes = 0;
  group_number group = root_group;  ///< whose communicator carries it, unless a pair's does

  /// Of no operations: it is there to have its direction connected ahead of use, and is in no batch of the log's.
  [[nodiscard]] bool is_reservation() const noexcept { return send == 0; }

  friend bool operator==(const transfer&, const transfer&) = default;
};

/// Set-up of the entry's communicator. It stands before every other entry of that communicator, on each member.
struct create {
  communicator_kind kind = communicator_kind::group;
  std::vector<int> members;  ///< in order of rank, without those that are gone; the first one makes its unique id
};

/// Set-up of one direction between two ranks. It stands before the first batch that uses that direction, on both ends.
struct connect {
  int source = -1;
  int destination = -1;
};

/// One group of transfers, launched as a whole. Every rank in it sees its own transfers only, under the same number
/// and in the same order.
struct batch {
  std::vector<transfer> transfers;
};

/// The entry's communicator is destroyed on all of its members, each once it has finished what came before. It is not
/// named again.
struct evict {};

/// The entry's communicator has failed at a member. Out of turn: a rank that is told aborts it at once, whatever it is
/// waiting for. What the log has for it ends as `transfer_aborted`, and another one takes its place.
struct abort {};

/// From here the device is the application's own at each member, until it is given back there: a launch thread finishes
/// what came before, and goes on with the log afterwards. Of no communicator.
struct lease {
  std::uint64_t wish = 0;  ///< the member's own name for its part
};

struct log_entry {
  std::uint64_t number = 0;  ///< increases over the whole log, from 1
  communicator_id communicator = group_communicator;
  std::variant<create, connect, batch, evict, abort, lease> content;
};

/// How a rank's wish for a pair communicator has ended.
enum class reservation_end : std::uint8_t {
  made,       ///< it is there, and connected in both directions
  no_room,    ///< one of the two has as many as it may, and needs them
  failed,     ///< the communicator has
  peer_lost,  ///< the other rank is gone
  peer_left,  ///< the same, and it had said so
};
struct reservation_answer {
  int rank = -1;  ///< who had asked
  int peer = -1;
  reservation_end end = reservation_end::made;
};

/// An entry on its way to one rank.
struct addressed_entry {
  int rank = -1;
  log_entry entry;
};

/// What a sequencer appends to: entries for each rank in the order in which that rank has to receive them.
using outbox = std::vector<addressed_entry>;

}  // namespace weft::protocol
