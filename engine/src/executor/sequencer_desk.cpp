// SPDX-License-Identifier: Apache-2.0
#include "executor/sequencer_desk.hpp"

#include "protocol/messages.hpp"

#include <weft/engine/error.hpp>

#include <algorithm>
#include <utility>

namespace weft::detail {
namespace {

protocol::communicator_kind kind_of(const match_body& match) {
  return match.through_pair == 1 ? protocol::communicator_kind::pair : protocol::communicator_kind::group;
}

protocol::transfer transfer_of(const match_body& match) {
  return {match.source, match.destination, match.send, match.receive, match.bytes, match.group};
}

template <class Body>
std::span<const std::byte> bytes_of(const Body& body) {
  return std::as_bytes(std::span(&body, 1));
}

}  // namespace

sequencer_desk::sequencer_desk(int ranks, const protocol::sequencer_limits& limits, desk_mail& mail)
    : mail_(mail),
      gone_(static_cast<std::size_t>(ranks)),
      sequencer_(ranks, limits),
      splits_(ranks),
      lease_wishes_(splits_, ranks) {}

bool sequencer_desk::is_deserted() const {
  return std::all_of(gone_.begin() + 1, gone_.end(), [](bool gone) { return gone; });
}

bool sequencer_desk::on_message(int from, log_message type, std::span<const std::byte> body) {
  if (!handle(from, type, body)) return false;
  distribute();
  return true;
}

bool sequencer_desk::handle(int from, log_message type, std::span<const std::byte> body) {
  switch (type) {
    case log_message::match:
      return on_match(from, body);
    case log_message::withdraw_match:
      return on_withdraw_match(from, body);
    case log_message::finished:
      return on_finished(from, body);
    case log_message::failed:
      return on_failed(from, body);
    case log_message::reserve:
      return on_reserve(from, body);
    case log_message::split:
      return on_split(from, body);
    case log_message::lease_wish:
      return on_lease_wish(from, body);
    case log_message::withdraw_lease:
      return on_withdraw_lease(from, body);
    case log_message::identity:
      return on_unique_id(from, body);
    case log_message::leaving:
      on_leaving(from);
      return true;
    default:
      return false;
  }
}

// A rank speaks for what it receives, and for nobody else.
std::optional<match_body> sequencer_desk::parse_match(int from, std::span<const std::byte> body) const {
  const auto match = protocol::parse<match_body>(body);
  const int ranks = static_cast<int>(gone_.size());
  if (!match || match->through_pair > 1 || match->destination != from || match->source < 0 || match->source >= ranks)
    return std::nullopt;
  if (match->through_pair == 1 && match->source == match->destination) return std::nullopt;
  if (match->send == 0 || match->receive == 0) return std::nullopt;  // names of no operations: `is_reservation`
  if (match->group != protocol::root_group &&
      !(splits_.has_member(match->group, match->source) && splits_.has_member(match->group, from)))
    return std::nullopt;
  return match;
}

bool sequencer_desk::on_match(int from, std::span<const std::byte> body) {
  const auto match = parse_match(from, body);
  if (!match) return false;
  sequencer_.matched(kind_of(*match), transfer_of(*match), outbox_);
  return true;
}

bool sequencer_desk::on_withdraw_match(int from, std::span<const std::byte> body) {
  const auto match = parse_match(from, body);
  if (!match) return false;
  const bool granted = sequencer_.withdraw(kind_of(*match), transfer_of(*match));
  mail_.send_to_engine(from, log_message::match_withdrawal,
                       bytes_of(match_withdrawal_body{match->receive, granted ? 1U : 0U}));
  return true;
}

bool sequencer_desk::on_finished(int from, std::span<const std::byte> body) {
  const auto finished = protocol::parse<finished_body>(body);
  if (!finished) return false;
  (void)sequencer_.finished(from, finished->entry, outbox_);
  return true;
}

bool sequencer_desk::on_failed(int from, std::span<const std::byte> body) {
  const auto failed = protocol::parse<communicator_body>(body);
  return failed && sequencer_.failed(from, failed->communicator, outbox_);
}

bool sequencer_desk::on_reserve(int from, std::span<const std::byte> body) {
  const auto wish = protocol::parse<reserve_body>(body);
  const int ranks = static_cast<int>(gone_.size());
  if (!wish || wish->peer < 0 || wish->peer >= ranks || wish->peer == from) return false;
  sequencer_.reserve(from, wish->peer, outbox_);
  return true;
}

bool sequencer_desk::on_split(int from, std::span<const std::byte> body) {
  const auto wish = protocol::parse<split_body>(body);
  if (!wish || !splits_.ask(from, wish->parent, wish->color, wish->key, split_answers_)) return false;
  answer_splits();
  return true;
}

void sequencer_desk::answer_splits() {
  for (const protocol::split_answer& answer : std::exchange(split_answers_, {})) {
    // The answers to all members of a new group follow each other: it is known before any of them can use it.
    if (!answer.members.empty() && answer.rank == answer.members.front())
      sequencer_.add_group(answer.group, answer.members);
    encoded_.clear();
    encode(answer, encoded_);
    mail_.send_to_engine(answer.rank, log_message::split_done, encoded_);
  }
}

bool sequencer_desk::on_lease_wish(int from, std::span<const std::byte> body) {
  const auto wish = protocol::parse<lease_wish_body>(body);
  std::vector<protocol::lease_wish> complete;
  if (!wish || !lease_wishes_.ask(from, wish->group, wish->wish, complete, lease_answers_)) return false;
  if (!complete.empty()) sequencer_.lease_devices(complete, outbox_);
  answer_leases();
  return true;
}

bool sequencer_desk::on_withdraw_lease(int from, std::span<const std::byte> body) {
  const auto wish = protocol::parse<lease_wish_body>(body);
  if (!wish) return false;
  lease_wishes_.withdraw(from, wish->group, wish->wish, lease_answers_);
  answer_leases();
  return true;
}

void sequencer_desk::answer_leases() {
  for (const protocol::lease_answer& answer : std::exchange(lease_answers_, {}))
    mail_.send_to_engine(answer.rank, log_message::lease_ended,
                         bytes_of(lease_ended_body{answer.wish, static_cast<std::uint32_t>(answer.code), answer.gone}));
}

// Also to those that have left since the entry: the creation takes all of its members, and they stay for it.
bool sequencer_desk::on_unique_id(int from, std::span<const std::byte> body) {
  const auto shown = protocol::parse<unique_id_body>(body);
  if (!shown) return false;
  const auto others = sequencer_.identified(from, shown->communicator);
  if (!others) return false;
  for (const int member : *others) mail_.send_to_log(member, log_message::identity, bytes_of(*shown));
  return true;
}

void sequencer_desk::on_leaving(int from) {
  sequencer_.rank_leaves(from, outbox_);
  distribute();
  send_to_log(from, log_message::log_end, {});
  rank_gone(from, true);
}

void sequencer_desk::rank_lost(int rank) {
  rank_gone(rank, false);
  distribute();
}

void sequencer_desk::rank_gone(int rank, bool left) {
  if (is_gone(rank)) return;
  gone_[static_cast<std::size_t>(rank)] = true;
  const rank_gone_body body{rank, left ? 1U : 0U};
  for (int other = 0; other < static_cast<int>(gone_.size()); ++other)
    if (other != rank) send_to_log(other, log_message::rank_gone, bytes_of(body));
  sequencer_.rank_gone(rank, outbox_);
  const errc why = left ? errc::peer_left : errc::peer_lost;
  splits_.rank_gone(rank, why, split_answers_);
  answer_splits();
  lease_wishes_.rank_gone(rank, why, lease_answers_);
  answer_leases();
}

void sequencer_desk::send_to_log(int rank, log_message type, std::span<const std::byte> body) {
  if (!is_gone(rank)) mail_.send_to_log(rank, type, body);
}

void sequencer_desk::distribute() {
  for (const auto& [rank, entry] : outbox_) {
    encoded_.clear();
    const log_message type = encode(entry, encoded_);
    send_to_log(rank, type, encoded_);
  }
  outbox_.clear();
  for (const protocol::reservation_answer& answer : sequencer_.take_answers())
    mail_.send_to_engine(answer.rank, log_message::reserved,
                         bytes_of(reserve_body{answer.peer, static_cast<std::uint32_t>(answer.end)}));
}

}  // namespace weft::detail
