// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocol/message_table.hpp"
#include "protocol/ordered_index.hpp"
#include "protocol/pattern.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace weft::protocol {

/// Matching at one receiver, by MPI's rules: a message goes to the earliest posted receive that it satisfies, a receive
/// takes the earliest message that satisfies it, so that messages of one source and tag never overtake each other.
///
/// Messages are those of a message table, which is the queue of those that wait. Receives are named by slots that the
/// caller chooses (small numbers, used again when free: memory grows with the highest); a slot in the queue must not be
/// given again. Matching and withdrawing take constant time, however many wait, and logarithmic time in the number of
/// different sources and tags for what a wildcard could see change; nothing allocates once the tables have grown to
/// what the program needs.
class match_queue {
 public:
  explicit match_queue(message_table& messages) : messages_(messages) {}

  /// A message has arrived, and is held: gives the receive it goes to, which leaves the queue, or lets the message
  /// wait.
  std::optional<std::uint32_t> arrive(std::uint32_t message);
  /// A receive is posted: gives the message it takes, which leaves the queue, or keeps the receive.
  std::optional<std::uint32_t> post(std::uint32_t receive, const pattern& wanted);

  /// False if it does not wait here: it was matched, or never came.
  bool withdraw_message(std::uint32_t message);
  bool withdraw_receive(std::uint32_t receive);

  /// A match is undone because its receive was withdrawn: the message goes to the earliest receive that it satisfies
  /// and that was posted meanwhile, which is given; or back to its old place in the order of arrival. A search for
  /// that place is part of it, for which constant time is not promised.
  std::optional<std::uint32_t> put_back_message(std::uint32_t message);
  /// The same for a receive whose message was withdrawn.
  std::optional<std::uint32_t> put_back_receive(std::uint32_t receive);

  [[nodiscard]] std::size_t unexpected_count() const noexcept { return messages_.waiting_count(); }
  [[nodiscard]] std::size_t posted_count() const noexcept { return posted_.size(); }
  /// Lists held for patterns, empty ones included: what the memory of the queue depends on beside its slots.
  [[nodiscard]] std::size_t list_count() const noexcept { return messages_.lane_count() + posted_.list_count(); }

 private:
  struct posted_receive {
    std::uint64_t posting = 0;
    pattern wanted;  ///< canonical
  };

  std::optional<std::uint32_t> offer(std::uint32_t message_slot);
  std::optional<std::uint32_t> serve(std::uint32_t receive_slot);
  [[nodiscard]] std::uint32_t earliest_receive(const std::array<pattern, 4>& satisfied) const;

  message_table& messages_;
  ordered_index<1> posted_;  ///< each receive under its own pattern
  std::vector<posted_receive> receives_;
  std::uint64_t postings_ = 0;
};

}  // namespace weft::protocol
