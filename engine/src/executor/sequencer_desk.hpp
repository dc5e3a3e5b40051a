// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "executor/log_messages.hpp"
#include "protocol/group_splits.hpp"
#include "protocol/lease_wishes.hpp"
#include "protocol/sequencer.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace weft::detail {

/// Carries what a sequencer says to the ranks.
class desk_mail {
 public:
  /// On the link of the rank's launch thread, in this order, or kept for it.
  virtual void send_to_log(int rank, log_message type, std::span<const std::byte> body) = 0;
  /// On the link of its engine, where there is one.
  virtual void send_to_engine(int rank, log_message type, std::span<const std::byte> body) = 0;

 protected:
  ~desk_mail() = default;
};

/// A sequencer as it is spoken to: takes what ranks say apart, checks it, and answers. A rank that is gone is told
/// nothing more, but for the name of a communicator that it is to help create. Without links, threads or clocks.
class sequencer_desk {
 public:
  sequencer_desk(int ranks, const protocol::sequencer_limits& limits, desk_mail& mail);

  /// False: the message is malformed, or the rank may not say that.
  [[nodiscard]] bool on_message(int from, log_message type, std::span<const std::byte> body);
  /// A rank was lost.
  void rank_lost(int rank);

  [[nodiscard]] bool is_gone(int rank) const { return gone_[static_cast<std::size_t>(rank)]; }
  /// Whether all ranks but 0 are gone.
  [[nodiscard]] bool is_deserted() const;

 private:
  [[nodiscard]] bool handle(int from, log_message type, std::span<const std::byte> body);
  [[nodiscard]] std::optional<match_body> parse_match(int from, std::span<const std::byte> body) const;
  [[nodiscard]] bool on_match(int from, std::span<const std::byte> body);
  [[nodiscard]] bool on_withdraw_match(int from, std::span<const std::byte> body);
  [[nodiscard]] bool on_finished(int from, std::span<const std::byte> body);
  [[nodiscard]] bool on_failed(int from, std::span<const std::byte> body);
  [[nodiscard]] bool on_reserve(int from, std::span<const std::byte> body);
  [[nodiscard]] bool on_split(int from, std::span<const std::byte> body);
  [[nodiscard]] bool on_lease_wish(int from, std::span<const std::byte> body);
  [[nodiscard]] bool on_withdraw_lease(int from, std::span<const std::byte> body);
  [[nodiscard]] bool on_unique_id(int from, std::span<const std::byte> body);
  void on_leaving(int from);
  void rank_gone(int rank, bool left);
  void answer_splits();
  void answer_leases();
  void distribute();
  void send_to_log(int rank, log_message type, std::span<const std::byte> body);

  desk_mail& mail_;
  std::vector<bool> gone_;
  protocol::sequencer sequencer_;
  protocol::outbox outbox_;
  protocol::group_splits splits_;
  std::vector<protocol::split_answer> split_answers_;
  protocol::lease_wishes lease_wishes_;
  std::vector<protocol::lease_answer> lease_answers_;
  std::vector<std::byte> encoded_;
};

}  // namespace weft::detail
