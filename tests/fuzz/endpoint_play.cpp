// SPDX-License-Identifier: Apache-2.0
#include "endpoint_play.hpp"

#include "fuzz_target.hpp"

#include <algorithm>
#include <utility>

namespace weft::fuzz {
namespace {

using testing::packet;

// Small, so that short inputs reach them.
constexpr protocol::endpoint_limits small_limits{
    .eager_limit = 16, .max_unmatched = 6, .max_object_bytes = 128, .inline_credit = 48, .device_is_apart = true};
// Larger announcements are malformed, or only claim to be large.
constexpr std::uint64_t most_payload = 1'024;

payload_shape shape_of(fuzz_input& input) {
  const unsigned choices = input.byte();
  return {.kind = (choices & 1U) != 0 ? payload_kind::objects : payload_kind::buffer,
          .element = (choices & 2U) != 0 ? element_type::f32 : element_type::bytes,
          .memory = static_cast<memory_kind>((choices >> 2U) % 3),
          .fingerprint = (choices >> 4U) & 1U};
}

template <class Body>
packet packet_of(const Body& body, std::size_t content = 0) {
  const auto bytes = std::as_bytes(std::span(&body, 1));
  return {Body::type, {bytes.begin(), bytes.end()}, testing::payload(content)};
}

/// Mostly of values that exist.
protocol::announce announcement(protocol::operation_id send, fuzz_input& input) {
  if (input.below(8) == 7) return input.next<protocol::announce>();
  const payload_shape shape = shape_of(input);
  const unsigned choices = input.byte();
  const std::uint64_t bytes = input.below(160);
  return {.send = send,
          .group = (choices & 1U),
          .tag = (choices >> 1U) & 1U,
          .bytes = bytes,
          .fingerprint = shape.fingerprint,
          .head = shape.kind == payload_kind::objects ? std::min<std::uint64_t>(input.below(64), bytes) : 0,
          .kind = shape.kind,
          .element = shape.element,
          .memory = shape.memory,
          .route = static_cast<route>(1 + (choices >> 2U) % 4),
          .has_payload = static_cast<std::uint8_t>((choices >> 4U) & 1U),
          .wants_verdict = static_cast<std::uint8_t>((choices >> 5U) & 1U),
          .is_ready = static_cast<std::uint8_t>(1U - ((choices >> 6U) & (choices >> 7U) & 1U)),
          .reserved = 0};
}

protocol::refused refusal(protocol::operation_id send, fuzz_input& input) {
  protocol::refused body{.send = send,
                         .tag = input.byte(),
                         .code = static_cast<std::uint32_t>(errc::size_mismatch) + input.below(4),
                         .sent_kind = {},
                         .sent_element = {},
                         .wanted_kind = {},
                         .wanted_element = {},
                         .sent_bytes = input.byte(),
                         .wanted_bytes = input.byte()};
  if (input.below(4) == 3) body.code = input.next<std::uint32_t>();
  if (input.below(4) == 3) body.wanted_element = static_cast<element_type>(input.byte());
  return body;
}

}  // namespace

endpoint_play::endpoint_play() : rank_(0, ranks, small_limits) {}

void endpoint_play::run(fuzz_input& input) {
  constexpr std::size_t most_steps = 400;
  for (std::size_t i = 0; i < most_steps && !input.empty(); ++i) {
    perform(static_cast<endpoint_step>(input.below(static_cast<unsigned>(endpoint_step::count))), input);
    take_output();
    take_reports();
  }
  finish();
}

void endpoint_play::perform(endpoint_step what, fuzz_input& input) {
  if (what < endpoint_step::announce) return perform_own(what, input);
  if (what >= endpoint_step::answer) return perform_logs(what, input);
  const int peer = 1 + static_cast<int>(input.below(ranks - 1));
  if (!rank_.endpoint().is_gone(peer)) perform_peers(what, peer, input);
}

// ---- what users do

void endpoint_play::perform_own(endpoint_step what, fuzz_input& input) {
  const unsigned choices = input.byte();
  const int peer = static_cast<int>(choices % (ranks + 1));  // one of them is none
  const std::uint64_t tag = (choices >> 3U) & 1U;
  const bool ready = (choices & 0xc0U) != 0xc0U;
  const protocol::group_number group = (choices >> 4U) & 1U;
  origin where = from(peer, tag);
  where.any_rank = (choices & 32U) != 0;
  where.every_tag = (choices & 64U) != 0;
  switch (what) {
    case endpoint_step::send: {
      const unsigned more = input.byte();
      destination target = to(peer, tag).via(static_cast<route>(more % 5));
      if ((more & 128U) != 0) target.point = matched;
      payload_shape like = shape_of(input);
      testing::payload content(input.below(100), std::byte{1});
      if (like.kind == payload_kind::objects) like.head = std::min<std::uint64_t>(input.below(64), content.size());
      const auto& started = rank_.send(target, std::move(content), like, ready, group);
      if (peer == 0) to_self_.insert(started.id);
      break;
    }
    case endpoint_step::receive: {
      const payload_shape like = shape_of(input);
      (void)rank_.receive(where, input.below(160), like, ready, group);
      break;
    }
    case endpoint_step::examine:
      (void)rank_.examine(where);
      break;
    case endpoint_step::cancel:
      if (const result* chosen = choose(input))
        rank_.cancel(*chosen, (choices & 1U) != 0 ? errc::cancelled : errc::timed_out);
      break;
    case endpoint_step::make_ready:
      if (const result* chosen = choose(input)) rank_.make_ready(*chosen);
      break;
    case endpoint_step::resume:
    case endpoint_step::refuse:
    case endpoint_step::discard: {
      if (rank_.held.empty()) return;
      const auto id = rank_.held[choices % rank_.held.size()];
      if (what == endpoint_step::refuse) return (void)rank_.refuse(id, "no");
      if (what == endpoint_step::discard) return (void)rank_.discard(id);
      payload_shape shape = rank_.at(id).details.here;
      if (input.below(8) == 7) shape.fingerprint = 9;
      (void)rank_.resume(id, shape);
      std::erase(rank_.held, id);
      break;
    }
    case endpoint_step::close:
      if (choices == 0) rank_.close();
      break;
    case endpoint_step::lose:
      if (peer != 0 && peer < ranks) rank_.lose(peer, (choices & 8U) != 0 ? errc::peer_left : errc::peer_lost);
      break;
    case endpoint_step::pump:
      if (!rank_.streams.empty()) rank_.pump_stream(1 + choices);
      break;
    case endpoint_step::add_group:
      rank_.event([](auto& endpoint, auto&) { endpoint.add_group(1, {0, 2}); });
      break;
    default:
      break;
  }
}

const endpoint_play::result* endpoint_play::choose(fuzz_input& input) const {
  const auto& all = rank_.results();
  return all.empty() ? nullptr : &all[all.size() - 1 - input.byte() % all.size()];
}

protocol::operation_id endpoint_play::choose_name(fuzz_input& input) const {
  if (input.below(16) == 15) return input.next<protocol::operation_id>();
  const result* chosen = choose(input);
  return chosen != nullptr ? chosen->id : 0;
}

// ---- what peers say

void endpoint_play::perform_peers(endpoint_step what, int peer, fuzz_input& input) {
  switch (what) {
    case endpoint_step::announce: {
      const protocol::announce body = announcement(1 + input.below(8), input);
      const std::uint64_t bytes = body.payload_bytes();
      if (bytes <= most_payload) deliver(peer, packet_of(body, bytes));
      break;
    }
    case endpoint_step::clear: {
      const protocol::operation_id send = choose_name(input);
      return deliver(peer, packet_of(protocol::clear{send, input.byte()}));
    }
    case endpoint_step::data: {
      const protocol::data body{choose_name(input), input.byte()};
      return deliver(peer, packet_of(body, body.bytes));
    }
    case endpoint_step::accepted:
      return deliver(peer, packet_of(protocol::accepted{choose_name(input)}));
    case endpoint_step::refused: {
      const protocol::refused body = refusal(choose_name(input), input);
      return deliver(peer, packet_of(body, input.below(4)));
    }
    case endpoint_step::withdraw:
      return deliver(peer, packet_of(protocol::withdraw{1 + input.below(8)}));
    case endpoint_step::withdrawn:
      return deliver(peer, packet_of(protocol::withdrawn{choose_name(input)}));
    case endpoint_step::credit: {
      const std::uint64_t bytes = input.below(64);
      deliver(peer, packet_of(protocol::credit{bytes}));
      if (rank_.endpoint().is_gone(peer)) return;
      std::uint64_t& lent = lent_[static_cast<std::size_t>(peer)];
      require(bytes <= lent, "no more credit is taken back than was used");
      lent -= bytes;
      break;
    }
    case endpoint_step::ready:
      return deliver(peer, packet_of(protocol::ready{1 + input.below(8)}));
    case endpoint_step::goodbye:
      return deliver(peer, packet_of(protocol::goodbye{0}));
    default:
      break;
  }
}

void endpoint_play::deliver(int peer, const packet& arrived) {
  const bool is_announcement = arrived.type == protocol::message_type::announce;
  if (!rank_.deliver(peer, arrived)) return rank_.lose(peer);
  if (is_announcement) taken_[static_cast<std::size_t>(peer)] += arrived.content.size();
}

/// What the rank says keeps within the credit of both sides.
void endpoint_play::take_output() {
  for (std::size_t peer = 1; peer < ranks; ++peer) {
    for (const packet& said : std::exchange(rank_.out[peer], {})) {
      if (said.type == protocol::message_type::announce) lent_[peer] += said.content.size();
      if (said.type != protocol::message_type::credit) continue;
      const std::uint64_t given_back = protocol::parse<protocol::credit>(said.body)->bytes;
      require(given_back <= taken_[peer], "no more credit is given back than was used");
      taken_[peer] -= given_back;
    }
    require(lent_[peer] <= small_limits.inline_credit, "no peer is sent more than it takes");
    require(taken_[peer] <= small_limits.inline_credit, "no peer may send more than is taken");
  }
}

// ---- the sequencer and the launch thread

void endpoint_play::take_reports() {
  for (const testing::sequencer_report& said : std::exchange(rank_.reports, {}))
    if (said.withdraws)
      asked_.push_back(said.what.receive);
    else if (said.what.source == 0)
      own_matches_[said.what.receive] = said.what.send;
}

/// Of what is sent to itself nobody but this rank can have told the sequencer. (Peers may name any send to them at any
/// time, and the launch thread gives them no other.)
bool endpoint_play::may_launch(protocol::operation_id id) const {
  if (!to_self_.contains(id)) return true;
  return std::any_of(own_matches_.begin(), own_matches_.end(), [id](const auto& one) { return one.second == id; });
}

void endpoint_play::perform_logs(endpoint_step what, fuzz_input& input) {
  switch (what) {
    case endpoint_step::answer: {
      if (asked_.empty()) return;
      const auto index = static_cast<std::ptrdiff_t>(input.byte() % asked_.size());
      const protocol::operation_id receive = asked_[static_cast<std::size_t>(index)];
      asked_.erase(asked_.begin() + index);
      const bool granted = input.flag() && !in_log_.contains(receive);
      if (granted) own_matches_.erase(receive);
      return rank_.match_withdrawal(receive, granted);
    }
    case endpoint_step::launch:
      if (const result* chosen = choose(input);
          chosen != nullptr && has_log_ && may_launch(chosen->id) && rank_.take_published(chosen->id)) {
        launched_.push_back(chosen->id);
        in_log_.insert(chosen->id);
        for (const auto& [receive, send] : own_matches_)
          if (send == chosen->id) in_log_.insert(receive);
      }
      break;
    case endpoint_step::transferred:
      if (!launched_.empty()) {
        const std::size_t index = input.byte() % launched_.size();
        transfer(index, input.flag() ? errc::transfer_aborted : errc{});
      }
      break;
    case endpoint_step::lose_log:
      if (input.byte() != 0) return;
      has_log_ = false;
      rank_.event([](auto& endpoint, auto& actions) { endpoint.on_log_lost(actions); });
      break;
    default:
      break;
  }
}

void endpoint_play::transfer(std::size_t index, boost::system::error_code code) {
  const auto at = launched_.begin() + static_cast<std::ptrdiff_t>(index);
  const protocol::operation_id id = *at;
  launched_.erase(at);
  rank_.transferred(id, code);
}

void endpoint_play::finish() {
  for (int peer = 1; peer < ranks; ++peer) rank_.lose(peer);
  while (!launched_.empty()) transfer(0, errc::transfer_aborted);
  rank_.event([](auto& endpoint, auto& actions) { endpoint.on_log_lost(actions); });
  rank_.close();
  // What is held waits for its user, to the last.
  while (!rank_.held.empty()) {
    const auto id = rank_.held.front();
    rank_.held.pop_front();
    (void)rank_.discard(id);
  }
  require(rank_.running() == 0, "every operation ends once all others are gone");
  require(rank_.endpoint().in_flight() == 0, "nothing is in flight after the end of all");
}

}  // namespace weft::fuzz
