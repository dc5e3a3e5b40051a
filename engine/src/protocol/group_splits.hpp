// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocol/log_entry.hpp"

#include <weft/engine/error.hpp>

#include <cstddef>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

namespace weft::protocol {

/// What one rank is told of a split that it took part in.
struct split_answer {
  int rank = -1;
  group_number parent = root_group;
  errc code{};  ///< `peer_lost` or `peer_left`: of rank `gone`, a member of the parent
  int gone = -1;
  group_number group = root_group;  ///< the new one
  std::vector<int> members{};       ///< of it, in its order of ranks; none where the rank chose no group
};

/// Forms groups out of groups: the n-th split of a group is over once each of its members has asked for its n-th.
/// Ranks are those of the root group. Pure.
class group_splits {
 public:
  explicit group_splits(int ranks);

  /// A member wants to be in a group with those of the same color, ordered by key and then by their rank in the parent;
  /// with a negative color in none. False: there is no such group, or the rank is not in it.
  [[nodiscard]] bool ask(int rank, group_number parent, int color, int key, std::vector<split_answer>& out);

  /// Splits of groups with that rank cannot end any more: whoever takes part is told, now and later.
  void rank_gone(int rank, errc why, std::vector<split_answer>& out);

  /// Null where there is no such group.
  [[nodiscard]] const std::vector<int>* members(group_number number) const noexcept {
    return number < groups_.size() ? &groups_[number].members : nullptr;
  }
  [[nodiscard]] bool has_member(group_number number, int rank) const noexcept;

 private:
  struct wish {
    int color = 0;
    int key = 0;
  };
  struct group {
    std::vector<int> members;
    std::vector<std::pair<int, std::size_t>> places;  ///< each member and its rank in this group; in order
    std::vector<std::deque<wish>> wishes;             ///< by rank in this group
  };

  /// A member's rank in a group.
  [[nodiscard]] std::optional<std::size_t> place_of(group_number number, int rank) const noexcept;
  group_number form(std::vector<int> members);
  void fail(group_number parent, int gone, std::vector<split_answer>& out);
  void split(group_number parent, std::vector<split_answer>& out);

  std::deque<group> groups_;  ///< by number
  std::vector<std::optional<errc>> gone_;
};

}  // namespace weft::protocol
