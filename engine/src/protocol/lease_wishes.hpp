// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocol/group_splits.hpp"
#include "protocol/log_entry.hpp"

#include <weft/engine/error.hpp>

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

namespace weft::protocol {

/// A member's part of a lease that all members of its group have asked for.
struct lease_wish {
  int rank = -1;
  std::uint64_t name = 0;  ///< that the rank gave it
};

/// What one rank is told of a wish that comes to nothing.
struct lease_answer {
  int rank = -1;
  std::uint64_t wish = 0;
  errc code{};  ///< `cancelled`: taken back; `peer_lost` or `peer_left`: rank `gone` is, a member of the group
  int gone = -1;
};

/// Finds out when all members of a group have asked for a lease: the n-th wishes of all belong together, of those that
/// were not taken back. Ranks are those of the root group. Pure.
class lease_wishes {
 public:
  lease_wishes(const group_splits& groups, int ranks) : groups_(groups), gone_(static_cast<std::size_t>(ranks)) {}

  /// False: there is no such group, or the rank is not in it. If it was the last one to ask, `complete` has the wishes
  /// of all members.
  [[nodiscard]] bool ask(int rank, group_number group, std::uint64_t name, std::vector<lease_wish>& complete,
                         std::vector<lease_answer>& out);

  /// A member no longer wants it; it is answered unless all had asked before.
  void withdraw(int rank, group_number group, std::uint64_t name, std::vector<lease_answer>& out);

  /// Leases of groups with that rank cannot be any more: whoever asks is told, now and later.
  void rank_gone(int rank, errc why, std::vector<lease_answer>& out);

 private:
  using wishes = std::map<int, std::deque<std::uint64_t>>;  ///< by rank; none of them empty

  [[nodiscard]] static std::vector<lease_wish> take_first(wishes& from);
  void fail(wishes& all, int gone, std::vector<lease_answer>& out) const;

  const group_splits& groups_;
  std::map<group_number, wishes> waiting_;
  std::vector<std::optional<errc>> gone_;
};

}  // namespace weft::protocol
