// SPDX-License-Identifier: Apache-2.0
#include "executor/sequencer_server.hpp"

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

}  // namespace

sequencer_server::sequencer_server(const listening_options& listening, int ranks,
                                   const protocol::sequencer_limits& limits, std::function<void()> all_gone)
    : listening_(context_.get_executor(), listening,
                 {.admit = [this](const hello& from) { return admit(from); },
                  .accepted = [this](const hello& from, stream_socket socket) { accept(from, std::move(socket)); }}),
      all_gone_(std::move(all_gone)),
      ranks_(static_cast<std::size_t>(ranks)),
      sequencer_(ranks, limits),
      splits_(ranks),
      lease_wishes_(splits_, ranks) {}

sequencer_server::~sequencer_server() {
  stop();
}

void sequencer_server::start(std::vector<std::uint64_t> incarnations) {
  incarnations_ = std::move(incarnations);
  thread_ = std::thread([this] { context_.run(); });
}

void sequencer_server::stop() {
  if (!thread_.joinable()) return;
  context_.stop();
  thread_.join();
}

verdict sequencer_server::admit(const hello& from) const {
  if (from.purpose != purpose::log && from.purpose != purpose::report) return verdict::wrong_purpose;
  if (from.from < 0 || from.from >= static_cast<int>(ranks_.size())) return verdict::wrong_rank;
  const auto rank = static_cast<std::size_t>(from.from);
  return from.incarnation == incarnations_[rank] && !ranks_[rank].gone ? verdict::accepted
                                                                       : verdict::unknown_incarnation;
}

void sequencer_server::accept(const hello& from, stream_socket socket) {
  rank_state& rank = ranks_[static_cast<std::size_t>(from.from)];
  auto link = std::make_shared<message_link>(std::move(socket), from.from, static_cast<link_owner&>(*this), nullptr);
  auto& place = from.purpose == purpose::log ? rank.log : rank.report;
  place = link;
  if (from.purpose == purpose::log) link->adopt(std::exchange(rank.backlog, {}));
  link->start();
  link->flush();
}

void sequencer_server::end_turn() {
  for (const rank_state& rank : ranks_)
    if (rank.log && rank.log->has_output()) rank.log->flush();
}

bool sequencer_server::on_message(message_link& link, std::uint8_t type, std::span<const std::byte> body) {
  switch (static_cast<log_message>(type)) {
    case log_message::match:
      if (!on_match(link.peer(), body)) return false;
      break;
    case log_message::withdraw_match:
      if (!on_withdraw_match(link, body)) return false;
      break;
    case log_message::finished: {
      const auto finished = protocol::parse<finished_body>(body);
      if (!finished) return false;
      (void)sequencer_.finished(link.peer(), finished->entry, outbox_);
      break;
    }
    case log_message::failed:
      if (!on_failed(link.peer(), body)) return false;
      break;
    case log_message::reserve:
      if (!on_reserve(link.peer(), body)) return false;
      break;
    case log_message::split:
      if (!on_split(link.peer(), body)) return false;
      break;
    case log_message::lease_wish:
      if (!on_lease_wish(link.peer(), body)) return false;
      break;
    case log_message::withdraw_lease:
      if (!on_withdraw_lease(link.peer(), body)) return false;
      break;
    case log_message::leaving:
      sequencer_.rank_leaves(link.peer(), outbox_);
      distribute();
      send(link.peer(), log_message::log_end, {});
      rank_gone(link.peer(), true);
      link.flush();
      break;
    case log_message::identity:
      if (!on_unique_id(link.peer(), body)) return false;
      break;
    default:
      return false;
  }
  distribute();
  return true;
}

// A rank speaks for what it receives, and for nobody else.
std::optional<match_body> sequencer_server::parse_match(int from, std::span<const std::byte> body) const {
  const auto match = protocol::parse<match_body>(body);
  const int ranks = static_cast<int>(ranks_.size());
  if (!match || match->through_pair > 1 || match->destination != from || match->source < 0 || match->source >= ranks)
    return std::nullopt;
  if (match->through_pair == 1 && match->source == match->destination) return std::nullopt;
  if (match->group != protocol::root_group &&
      !(splits_.has_member(match->group, match->source) && splits_.has_member(match->group, from)))
    return std::nullopt;
  return match;
}

bool sequencer_server::on_match(int from, std::span<const std::byte> body) {
  const auto match = parse_match(from, body);
  if (!match) return false;
  sequencer_.matched(kind_of(*match), transfer_of(*match), outbox_);
  return true;
}

bool sequencer_server::on_withdraw_match(message_link& link, std::span<const std::byte> body) {
  const auto match = parse_match(link.peer(), body);
  if (!match) return false;
  const bool granted = sequencer_.withdraw(kind_of(*match), transfer_of(*match));
  link.append(static_cast<std::uint8_t>(log_message::match_withdrawal),
              match_withdrawal_body{match->receive, granted ? 1U : 0U});
  link.flush();
  return true;
}

bool sequencer_server::on_failed(int from, std::span<const std::byte> body) {
  const auto failed = protocol::parse<communicator_body>(body);
  return failed && sequencer_.failed(from, failed->communicator, outbox_);
}

bool sequencer_server::on_reserve(int from, std::span<const std::byte> body) {
  const auto wish = protocol::parse<reserve_body>(body);
  const int ranks = static_cast<int>(ranks_.size());
  if (!wish || wish->peer < 0 || wish->peer >= ranks || wish->peer == from) return false;
  sequencer_.reserve(from, wish->peer, outbox_);
  return true;
}

bool sequencer_server::on_split(int from, std::span<const std::byte> body) {
  const auto wish = protocol::parse<split_body>(body);
  if (!wish || !splits_.ask(from, wish->parent, wish->color, wish->key, split_answers_)) return false;
  answer_splits();
  return true;
}

void sequencer_server::answer_splits() {
  for (const protocol::split_answer& answer : std::exchange(split_answers_, {})) {
    // The answers to all members of a new group follow each other: it is known before any of them can use it.
    if (!answer.members.empty() && answer.rank == answer.members.front())
      sequencer_.add_group(answer.group, answer.members);
    const auto& link = ranks_[static_cast<std::size_t>(answer.rank)].report;
    if (!link || !link->is_open()) continue;
    encoded_.clear();
    encode(answer, encoded_);
    link->append_bytes(static_cast<std::uint8_t>(log_message::split_done), encoded_);
    link->flush();
  }
}

bool sequencer_server::on_lease_wish(int from, std::span<const std::byte> body) {
  const auto wish = protocol::parse<lease_wish_body>(body);
  std::vector<protocol::lease_wish> complete;
  if (!wish || !lease_wishes_.ask(from, wish->group, wish->wish, complete, lease_answers_)) return false;
  if (!complete.empty()) sequencer_.lease_devices(complete, outbox_);
  answer_leases();
  return true;
}

bool sequencer_server::on_withdraw_lease(int from, std::span<const std::byte> body) {
  const auto wish = protocol::parse<lease_wish_body>(body);
  if (!wish) return false;
  lease_wishes_.withdraw(from, wish->group, wish->wish, lease_answers_);
  answer_leases();
  return true;
}

void sequencer_server::answer_leases() {
  for (const protocol::lease_answer& answer : std::exchange(lease_answers_, {})) {
    const auto& link = ranks_[static_cast<std::size_t>(answer.rank)].report;
    if (!link || !link->is_open()) continue;
    link->append(static_cast<std::uint8_t>(log_message::lease_ended),
                 lease_ended_body{answer.wish, static_cast<std::uint32_t>(answer.code), answer.gone});
    link->flush();
  }
}

bool sequencer_server::on_unique_id(int from, std::span<const std::byte> body) {
  const auto shown = protocol::parse<unique_id_body>(body);
  if (!shown) return false;
  const auto others = sequencer_.identified(from, shown->communicator);
  if (!others) return false;
  for (const int member : *others) send(member, log_message::identity, body);
  return true;
}

void sequencer_server::on_link_closed(message_link& link, boost::system::error_code) {
  rank_state& rank = ranks_[static_cast<std::size_t>(link.peer())];
  if (rank.log.get() == &link) rank_gone(link.peer(), false);
  distribute();
}

void sequencer_server::rank_gone(int rank, bool left) {
  rank_state& state = ranks_[static_cast<std::size_t>(rank)];
  if (std::exchange(state.gone, true)) return;
  const rank_gone_body body{rank, left ? 1U : 0U};
  for (int other = 0; other < static_cast<int>(ranks_.size()); ++other)
    if (other != rank) send(other, log_message::rank_gone, std::as_bytes(std::span(&body, 1)));
  sequencer_.rank_gone(rank, outbox_);
  const errc why = left ? errc::peer_left : errc::peer_lost;
  splits_.rank_gone(rank, why, split_answers_);
  answer_splits();
  lease_wishes_.rank_gone(rank, why, lease_answers_);
  answer_leases();
  if (std::all_of(ranks_.begin() + 1, ranks_.end(), [](const rank_state& one) { return one.gone; })) all_gone_();
}

void sequencer_server::send(int rank, log_message type, std::span<const std::byte> body) {
  rank_state& state = ranks_[static_cast<std::size_t>(rank)];
  if (state.gone) return;
  if (state.log)
    state.log->append_bytes(static_cast<std::uint8_t>(type), body);
  else
    append_message(state.backlog, static_cast<std::uint8_t>(type), body);
}

void sequencer_server::distribute() {
  for (const auto& [rank, entry] : outbox_) {
    encoded_.clear();
    const log_message type = encode(entry, encoded_);
    send(rank, type, encoded_);
  }
  outbox_.clear();
  for (const protocol::reservation_answer& answer : sequencer_.take_answers()) {
    const auto& link = ranks_[static_cast<std::size_t>(answer.rank)].report;
    if (!link || !link->is_open()) continue;
    link->append(static_cast<std::uint8_t>(log_message::reserved),
                 reserve_body{answer.peer, static_cast<std::uint32_t>(answer.end)});
    link->flush();
  }
}

}  // namespace weft::detail
