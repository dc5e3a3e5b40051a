// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/device.hpp"
#include "protocol/group_splits.hpp"
#include "protocol/log_entry.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

/// What the sequencer and the ranks say to each other. Matches go up on a link of the rank's engine; the log comes
/// down, and reports go up, on a link of its launch thread. Layouts are fixed and little-endian, as on the peers'
/// links.
namespace weft::detail {

enum class log_message : std::uint8_t {
  match = 64,        ///< rank: these two operations belong together
  finished,          ///< rank: its part of a batch is over
  leaving,           ///< rank: closes, and needs the log no more
  identity,          ///< root of a new communicator, and passed on to its members
  create,            ///< log
  connect,           ///< log
  batch,             ///< log
  rank_gone,         ///< sequencer: a rank was lost, or has left
  withdraw_match,    ///< rank: forget that match, if it is not in the log yet
  match_withdrawal,  ///< sequencer: whether it is forgotten
  split,             ///< rank: its part of a split
  split_done,        ///< sequencer: how that split ended
  evict,             ///< log
  abort,             ///< log, out of turn
  failed,            ///< rank: a communicator has failed there
  log_end,           ///< sequencer: to a rank that leaves, after the last entry for it
  reserve,           ///< rank: wants its pair communicator with another one
  reserved,          ///< sequencer: how that has ended
  lease,             ///< log
  lease_wish,        ///< rank: its part of a lease
  withdraw_lease,    ///< rank: forget that part, if the lease is not in the log yet
  lease_ended,       ///< sequencer: that part came to nothing, and why
};

struct match_body {
  std::uint8_t through_pair;
  std::uint8_t reserved[3];
  std::int32_t source;
  std::int32_t destination;
  std::uint32_t reserved_too;
  std::uint64_t send;
  std::uint64_t receive;
  std::uint64_t bytes;
  std::uint64_t group;
};

struct match_withdrawal_body {
  std::uint64_t receive;
  std::uint64_t granted;  ///< 1: forgotten; 0: too late
};

struct split_body {
  std::uint64_t parent;
  std::int32_t color;
  std::int32_t key;
};

/// Members follow as numbers of 32 bits.
struct split_done_body {
  std::uint64_t parent;
  std::uint64_t group;
  std::uint32_t code;  ///< an `errc`, or 0
  std::int32_t gone;
  std::uint32_t members;
  std::uint32_t reserved;
};

struct reserve_body {
  std::int32_t peer;
  std::uint32_t end;  ///< of `reserved`: a `protocol::reservation_end`; 0 in `reserve`
};

/// Of `lease_wish` and `withdraw_lease`.
struct lease_wish_body {
  std::uint64_t group;
  std::uint64_t wish;  ///< the rank's name for its part
};

struct lease_ended_body {
  std::uint64_t wish;
  std::uint32_t code;  ///< an `errc`
  std::int32_t gone;   ///< the rank because of which it is, or -1
};

struct lease_body {
  std::uint64_t entry;
  std::uint64_t wish;
};

struct finished_body {
  std::uint64_t entry;
};

struct leaving_body {
  std::uint64_t reserved;
};

struct unique_id_body {
  std::uint32_t communicator;
  std::uint32_t reserved;
  unique_id id;
};

/// Members follow as numbers of 32 bits.
struct create_body {
  std::uint64_t entry;
  std::uint32_t communicator;
  std::uint32_t members;
  std::uint32_t is_pair;  ///< 1: of two ranks alone; 0: of a group
  std::uint32_t reserved;
};

struct connect_body {
  std::uint64_t entry;
  std::uint32_t communicator;
  std::int32_t source;
  std::int32_t destination;
  std::uint32_t reserved;
};

/// Operations follow.
struct batch_body {
  std::uint64_t entry;
  std::uint32_t communicator;
  std::uint32_t operations;
};

struct batch_operation_body {
  std::int32_t source;
  std::int32_t destination;
  std::uint64_t send;
  std::uint64_t receive;
  std::uint64_t bytes;
};

struct rank_gone_body {
  std::int32_t rank;
  std::uint32_t left;  ///< 1: it said goodbye
};

/// Of `evict`, `abort`, and a rank's `failed`, which leaves the entry at 0.
struct communicator_body {
  std::uint64_t entry;
  std::uint32_t communicator;
  std::uint32_t reserved;
};

/// An entry as it goes over the log's link, and back; the type of its message is returned.
log_message encode(const protocol::log_entry& entry, std::vector<std::byte>& out);
/// Nothing where the bytes are no such message.
[[nodiscard]] std::optional<protocol::log_entry> decode(log_message type, std::span<const std::byte> body);
/// Whether an entry can be for rank `self` of so many: it names ranks that exist, once where there is no sense in more,
/// and this one among them.
[[nodiscard]] bool concerns(const protocol::log_entry& entry, int self, int ranks);

/// An answer to a split, and back. Nothing where the bytes are no such message.
void encode(const protocol::split_answer& answer, std::vector<std::byte>& out);
[[nodiscard]] std::optional<protocol::split_answer> decode_split_done(std::span<const std::byte> body);
/// Whether an answer can be for rank `self` of so many: the new group has ranks that exist, each once, this one among
/// them; or why there is none can be a reason.
[[nodiscard]] bool concerns(const protocol::split_answer& answer, int self, int ranks);

}  // namespace weft::detail
