// SPDX-License-Identifier: Apache-2.0
#include "protocol/endpoint.hpp"

#include <cassert>
#include <string>
#include <utility>

namespace weft::protocol {
namespace {

bool uses_log(weft::route which) noexcept {
  return which == weft::route::device || which == weft::route::pair;
}

/// The body of a message as an action that puts it on the link.
template <class Body>
action transmit(int peer, const Body& body, operation_id payload_of = 0) {
  action next{.type = action_type::transmit, .message_kind = Body::type, .peer = peer, .operation = payload_of};
  static_assert(sizeof(Body) <= sizeof(message_body));
  std::memcpy(&next.body, &body, sizeof(Body));
  return next;
}

action about(action_type type, operation_id id) {
  return {.type = type, .operation = id};
}
action about_message(action_type type, std::uint32_t message, operation_id id = 0) {
  return {.type = type, .message = message, .operation = id};
}

/// Codes that a receiver may refuse with; anything else is not of this protocol.
bool is_refusal(std::uint32_t code) noexcept {
  switch (static_cast<errc>(code)) {
    case errc::size_mismatch:
    case errc::element_type_mismatch:
    case errc::object_type_mismatch:
    case errc::kind_mismatch:
    case errc::message_too_large:
    case errc::too_many_unmatched:
    case errc::sequencer_lost:
      return true;
    default:
      return false;
  }
}

/// How far a message had come when it was refused so.
phase phase_of(errc refusal) noexcept {
  return refusal == errc::too_many_unmatched ? phase::unmatched : phase::matched;
}

}  // namespace

endpoint::endpoint(int self, const std::vector<std::size_t>& credit_of_rank, endpoint_limits limits)
    : self_(self),
      limits_(limits),
      peers_(credit_of_rank.size()),
      present_peers_(static_cast<int>(credit_of_rank.size()) - 1) {
  for (std::size_t rank = 0; rank < peers_.size(); ++rank)
    peers_[rank].granted = peers_[rank].credit = credit_of_rank[rank];
}

operation* endpoint::find(operation_id id, operation_kind kind, int peer) noexcept {
  operation* op = operations_.find(id);
  return op != nullptr && op->details.operation == kind && op->details.peer == peer ? op : nullptr;
}

// ---- the user's side

void endpoint::reject(operation_id id, operation_details details, errc code, actions& out) {
  operations_.find(id)->details = std::move(details);
  complete(id, code, out);
}

weft::route endpoint::resolve(const destination& where, const payload_shape& shape) const noexcept {
  weft::route chosen = where.route;
  if (chosen == weft::route::automatic) {
    if (shape.memory == memory_kind::device)
      chosen = weft::route::device;
    else
      chosen = shape.bytes <= limits_.eager_limit ? weft::route::inlined : weft::route::host;
  }
  // There is no pair of one rank: its bytes are copied.
  if (where.rank == self_ && chosen == weft::route::pair) chosen = weft::route::host;
  return chosen;
}

void endpoint::start_send(operation_id id, const destination& where, const payload_shape& shape, actions& out) {
  operation& op = *operations_.find(id);
  op.details.operation = operation_kind::send;
  op.details.peer = where.rank;
  op.details.tag = where.tag;
  op.details.here = shape;
  if (closed_) return complete(id, errc::closed, out);
  if (!in_group(where.rank)) return complete(id, errc::rank_out_of_range, out);
  if (is_gone(where.rank)) return complete(id, peer_at(where.rank).why, out);
  op.route = resolve(where, shape);
  if (op.route == weft::route::inlined && shape.bytes > limits_.eager_limit) {
    op.details.reason = "the inline route carries up to " + std::to_string(limits_.eager_limit) +
                        " bytes (eager_limit); choose another route, or automatic";
    return complete(id, errc::message_too_large, out);
  }
  if (uses_log(op.route) && log_lost_) return complete(id, errc::sequencer_lost, out);

  const announce body{.send = id,
                      .tag = where.tag,
                      .bytes = shape.bytes,
                      .fingerprint = shape.fingerprint,
                      .kind = shape.kind,
                      .element = shape.element,
                      .memory = shape.memory,
                      .route = op.route,
                      .has_payload = 0,
                      .wants_verdict = where.point == completion_point::matched,
                      .reserved = {}};
  op.state = operation_state::unmatched;
  op.details.phase = phase::unmatched;
  if (uses_log(op.route)) {
    op.published = true;
    out.push_back(about(action_type::publish, id));
  }
  if (where.rank == self_)
    announce_to_self(id, op, body, out);
  else
    announce_to_peer(id, op, body, out);
}

void endpoint::announce_to_peer(operation_id id, operation& op, announce body, actions& out) {
  peer_state& peer = peer_at(op.details.peer);
  // Without credit the bytes stay here until the receiver asks for them: that is the backpressure.
  if (op.route == weft::route::inlined && body.bytes <= peer.credit) {
    peer.credit -= body.bytes;
    body.has_payload = 1;
    op.carried = true;
  }
  out.push_back(transmit(op.details.peer, body, body.has_payload != 0 ? id : 0));
  if (body.has_payload != 0 && body.wants_verdict == 0) complete(id, {}, out);
}

void endpoint::announce_to_self(operation_id id, operation& op, announce body, actions& out) {
  const std::uint32_t message = keep(self_, body);
  if (const auto receive = queue_.arrive(message, self_, body.tag)) {
    forget(message);
    return match(operations_.name_of(*receive), self_, body, {}, out);
  }
  if (queue_.unexpected_count() > limits_.max_unmatched) return fail_send(id, errc::too_many_unmatched, out);
  // What is kept of one's own messages is bounded like what is kept of others'.
  std::size_t& credit_left = peer_at(self_).credit;
  if (op.route != weft::route::inlined || body.wants_verdict != 0 || body.bytes > credit_left) return;
  credit_left -= body.bytes;
  messages_[message].envelope.has_payload = 1;
  out.push_back(about_message(action_type::keep_local, message, id));
  complete(id, {}, out);
}

void endpoint::start_receive(operation_id id, const origin& where, const payload_shape& shape, actions& out) {
  operation& op = *operations_.find(id);
  op.details.operation = operation_kind::receive;
  op.details.peer = where.any_rank ? -1 : where.rank;
  op.details.tag = where.tag;
  op.details.any_tag = where.every_tag;
  op.details.here = shape;
  op.any_source = where.any_rank;
  if (closed_) return complete(id, errc::closed, out);
  if (!where.any_rank && !in_group(where.rank)) return complete(id, errc::rank_out_of_range, out);
  op.state = operation_state::unmatched;
  op.details.phase = phase::unmatched;

  const pattern wanted{
      .source = where.rank, .any_source = where.any_rank, .tag = where.tag, .any_tag = where.every_tag};
  if (const auto found = queue_.post(slot_of(id), wanted)) {
    const kept_message arrived = messages_[*found];
    forget(*found);
    return match(id, arrived.source, arrived.envelope, {.arriving = false, .message = *found}, out);
  }
  if (!where.any_rank && is_gone(where.rank)) return fail_receive(id, peer_at(where.rank).why, out);
  fail_if_alone(out);
}

void endpoint::cancel(operation_id id, actions& out) {
  operation* op = operations_.find(id);
  if (op == nullptr || op->state != operation_state::unmatched) return;
  if (op->details.operation == operation_kind::receive) return fail_receive(id, errc::cancelled, out);
  if (op->details.peer == self_) return fail_send(id, errc::cancelled, out);
  // Only the receiver knows whether the message is matched. A sender that forgot on its own would leave a receive
  // waiting for bytes that never come, or give it those of another message.
  op->state = operation_state::withdrawing;
  out.push_back(transmit(op->details.peer, withdraw{.send = id}));
}

void endpoint::close(actions& out) {
  closed_ = true;
  const auto unmatched = operations_.select([](const operation& op) {
    return op.state == operation_state::unmatched || op.state == operation_state::withdrawing;
  });
  for (const operation_id id : unmatched) {
    const operation* op = operations_.find(id);
    if (op == nullptr) continue;
    if (op->details.operation == operation_kind::receive)
      fail_receive(id, errc::closed, out);
    else
      fail_send(id, errc::closed, out);
  }
}

void endpoint::end_all(errc code, actions& out) {
  close(out);
  for (const operation_id id : operations_.select([](const operation&) { return true; })) complete(id, code, out);
}

// ---- matching

errc endpoint::compare(const operation& receive, const announce& body) const noexcept {
  const payload_shape& here = receive.details.here;
  if (here.kind != body.kind) return errc::kind_mismatch;
  if (here.kind == payload_kind::objects) {
    if (here.fingerprint != body.fingerprint) return errc::object_type_mismatch;
    return body.bytes > limits_.max_object_bytes ? errc::message_too_large : errc{};
  }
  if (here.element != body.element) return errc::element_type_mismatch;
  return here.bytes != body.bytes ? errc::size_mismatch : errc{};
}

void endpoint::match(operation_id receive, int source, const announce& body, payload_place place, actions& out) {
  operation& op = *operations_.find(receive);
  op.details.peer = source;
  op.details.tag = body.tag;
  op.details.any_tag = false;
  op.details.phase = phase::matched;
  if (const errc problem = compare(op, body); problem != errc{})
    return fail_match(receive, source, body, problem, place, out);
  op.details.here.bytes = body.bytes;

  if (body.has_payload != 0) {
    out.push_back(place.arriving ? about(action_type::take_payload, receive)
                                 : about_message(action_type::use_kept, place.message, receive));
    give_credit(source, body, out);
    if (body.wants_verdict != 0) out.push_back(transmit(source, accepted{.send = body.send}));
    return complete(receive, {}, out);
  }
  if (uses_log(body.route)) return match_through_log(receive, source, body, out);
  if (source == self_) return match_local(receive, body, out);

  become_matched(op);
  op.remaining = body.bytes;
  out.push_back({.type = action_type::expect_stream, .operation = receive, .bytes = body.bytes});
  out.push_back(transmit(source, clear{.send = body.send, .receive = receive}));
}

void endpoint::match_local(operation_id receive, const announce& body, actions& out) {
  out.push_back({.type = action_type::copy_local, .operation = body.send, .other = receive, .bytes = body.bytes});
  complete(body.send, {}, out);
  complete(receive, {}, out);
}

void endpoint::match_through_log(operation_id receive, int source, const announce& body, actions& out) {
  if (log_lost_) return fail_match(receive, source, body, errc::sequencer_lost, {}, out);
  operation& op = *operations_.find(receive);
  become_matched(op);
  op.published = true;
  op.route = body.route;
  out.push_back({.type = action_type::expect_stream, .operation = receive, .bytes = body.bytes});
  out.push_back(about(action_type::publish, receive));
  out.push_back(
      {.type = action_type::report_match, .match = {body.route, source, self_, body.send, receive, body.bytes}});
  if (source == self_) become_matched(*operations_.find(body.send));
}

void endpoint::fail_match(operation_id receive, int source, const announce& body, errc code, payload_place place,
                          actions& out) {
  if (body.has_payload != 0) {
    out.push_back(place.arriving ? about(action_type::drop_payload, 0)
                                 : about_message(action_type::drop_kept, place.message));
    give_credit(source, body, out);
  }
  operation& op = *operations_.find(receive);
  op.details.there = body.shape();
  if (code == errc::message_too_large) op.details.here.bytes = limits_.max_object_bytes;  // what would have been taken
  refuse(source, body, code, op.details.here, out);
  complete(receive, code, out);
}

void endpoint::refuse(int source, const announce& body, errc code, const payload_shape& wanted, actions& out) {
  const refused verdict{.send = body.send,
                        .tag = body.tag,
                        .code = static_cast<std::uint32_t>(code),
                        .sent_kind = body.kind,
                        .sent_element = body.element,
                        .wanted_kind = wanted.kind,
                        .wanted_element = wanted.element,
                        .sent_bytes = body.bytes,
                        .wanted_bytes = wanted.bytes};
  if (source != self_)
    out.push_back(transmit(source, verdict));
  else
    (void)on_refused(self_, verdict, out);
}

// ---- the link's side

bool endpoint::on_announce(int peer, const announce& body, actions& out) {
  if (!is_valid(body)) return false;
  peer_state& from = peer_at(peer);
  if (body.has_payload != 0) {
    if (body.bytes > limits_.inline_credit - from.held) return false;
    from.held += body.bytes;
  }
  if (closed_) {
    if (body.has_payload != 0) out.push_back(about(action_type::drop_payload, 0));
    return true;
  }
  const std::uint32_t message = keep(peer, body);
  if (const auto receive = queue_.arrive(message, peer, body.tag)) {
    forget(message);
    match(operations_.name_of(*receive), peer, body, {.arriving = true, .message = 0}, out);
    return true;
  }
  if (queue_.unexpected_count() > limits_.max_unmatched) {
    (void)queue_.withdraw_message(message);
    forget(message);
    if (body.has_payload != 0) {
      out.push_back(about(action_type::drop_payload, 0));
      give_credit(peer, body, out);
    }
    refuse(peer, body, errc::too_many_unmatched, body.shape(), out);
    return true;
  }
  if (body.has_payload != 0) out.push_back(about_message(action_type::keep_payload, message));
  return true;
}

bool endpoint::on_clear(int peer, const clear& body, actions& out) {
  operation* op = find(body.send, operation_kind::send, peer);
  // Ended here meanwhile, by a close: the goodbye that follows tells the receiver.
  if (op == nullptr) return true;
  if (op->state == operation_state::matched || uses_log(op->route) || op->carried) return false;
  become_matched(*op);
  op->details.phase = phase::transferring;
  out.push_back({.type = action_type::start_stream,
                 .peer = peer,
                 .operation = body.send,
                 .other = body.receive,
                 .bytes = op->details.here.bytes});
  return true;
}

bool endpoint::on_accepted(int peer, const accepted& body, actions& out) {
  const operation* op = find(body.send, operation_kind::send, peer);
  if (op == nullptr) return true;
  if (!op->carried) return false;
  complete(body.send, {}, out);
  return true;
}

bool endpoint::on_refused(int peer, const refused& body, actions& out) {
  if (!is_refusal(body.code) || !is_valid(body)) return false;
  const auto code = static_cast<errc>(body.code);
  const payload_shape wanted{.bytes = body.wanted_bytes, .kind = body.wanted_kind, .element = body.wanted_element};
  if (operation* op = find(body.send, operation_kind::send, peer)) {
    if (op->state == operation_state::matched) return false;
    op->details.there = wanted;
    op->details.phase = phase_of(code);
    fail_send(body.send, code, out);
    return true;
  }
  action late{.type = action_type::report_late, .peer = peer, .code = code};
  late.details.operation = operation_kind::send;
  late.details.phase = phase_of(code);
  late.details.peer = peer;
  late.details.tag = body.tag;
  late.details.here = {.bytes = body.sent_bytes, .kind = body.sent_kind, .element = body.sent_element};
  late.details.there = wanted;
  out.push_back(std::move(late));
  return true;
}

bool endpoint::on_withdraw(int peer, const withdraw& body, actions& out) {
  for (std::uint32_t i = 0; i < messages_.size(); ++i) {
    const kept_message& candidate = messages_[i];
    if (!candidate.present || candidate.source != peer || candidate.envelope.send != body.send) continue;
    (void)queue_.withdraw_message(i);
    discard(i, out);
    out.push_back(transmit(peer, withdrawn{.send = body.send}));
    return true;
  }
  return true;  // matched already: too late, and the send ends by being carried out
}

bool endpoint::on_withdrawn(int peer, const withdrawn& body, actions& out) {
  const operation* op = find(body.send, operation_kind::send, peer);
  if (op == nullptr) return true;
  if (op->state != operation_state::withdrawing) return false;
  fail_send(body.send, errc::cancelled, out);
  return true;
}

bool endpoint::on_credit(int peer, const credit& body) {
  peer_state& to = peer_at(peer);
  if (body.bytes > to.granted - to.credit) return false;
  to.credit += body.bytes;
  return true;
}

void endpoint::on_peer_gone(int peer, errc why, actions& out) {
  peer_state& state = peer_at(peer);
  if (state.gone || peer == self_) return;
  state.gone = true;
  state.why = why;
  last_gone_ = why;
  --present_peers_;
  for (std::uint32_t i = 0; i < messages_.size(); ++i) {
    // What arrived whole can still be received; the rest cannot be asked for any more.
    if (!messages_[i].present || messages_[i].source != peer || messages_[i].envelope.has_payload != 0) continue;
    (void)queue_.withdraw_message(i);
    discard(i, out);
  }
  const auto concerned = operations_.select(
      [peer](const operation& op) { return op.details.peer == peer && op.state != operation_state::allocated; });
  for (const operation_id id : concerned) {
    const operation& op = *operations_.find(id);
    if (op.details.operation == operation_kind::send)
      fail_send(id, why, out);
    else if (op.state == operation_state::unmatched)
      fail_receive(id, why, out);
    else if (!op.published)
      complete(id, why, out);
    // A matched receive in the log is failed by the launch thread, which knows whether it had begun.
  }
  fail_if_alone(out);
}

// ---- the payload's side

std::optional<std::uint64_t> endpoint::stream_expected(int peer, operation_id id) const noexcept {
  const operation* op = operations_.find(id);
  const bool expected = op != nullptr && op->details.operation == operation_kind::receive && op->details.peer == peer &&
                        op->state == operation_state::matched && !op->published;
  return expected ? std::optional(op->remaining) : std::nullopt;
}

void endpoint::on_streamed(operation_id id, std::uint64_t bytes, actions& out) {
  operation* op = operations_.find(id);
  if (op == nullptr) return;
  op->details.phase = phase::transferring;
  op->remaining -= bytes;
  if (op->remaining == 0) complete(id, {}, out);
}

void endpoint::on_stream_sent(operation_id id, actions& out) {
  if (operations_.find(id) != nullptr) complete(id, {}, out);
}

void endpoint::on_transferred(operation_id id, boost::system::error_code code, actions& out) {
  operation* op = operations_.find(id);
  if (op == nullptr) return;
  op->details.phase = phase::transferring;
  complete(id, code, out);
}

void endpoint::revoked(operation_id id, boost::system::error_code code, actions& out) {
  if (operations_.find(id) != nullptr) complete(id, code, out);
}

void endpoint::revoke_refused(operation_id id) {
  operation* op = operations_.find(id);
  if (op != nullptr && op->state != operation_state::matched) become_matched(*op);
}

void endpoint::on_log_lost(actions& out) {
  log_lost_ = true;
  for (const operation_id id : operations_.select([](const operation& op) { return op.published; }))
    out.push_back({.type = action_type::revoke, .operation = id, .code = errc::sequencer_lost});
}

// ---- small steps

std::uint32_t endpoint::keep(int source, const announce& body) {
  if (free_messages_.empty()) {
    free_messages_.push_back(static_cast<std::uint32_t>(messages_.size()));
    messages_.emplace_back();
  }
  const std::uint32_t slot = free_messages_.back();
  free_messages_.pop_back();
  messages_[slot] = {source, true, body};
  return slot;
}

void endpoint::forget(std::uint32_t slot) {
  messages_[slot].present = false;
  free_messages_.push_back(slot);
}

void endpoint::discard(std::uint32_t slot, actions& out) {
  const kept_message dropped = messages_[slot];
  if (dropped.envelope.has_payload != 0) {
    out.push_back(about_message(action_type::drop_kept, slot));
    give_credit(dropped.source, dropped.envelope, out);
  }
  forget(slot);
}

void endpoint::give_credit(int source, const announce& body, actions& out) {
  peer_state& peer = peer_at(source);
  if (source == self_) {
    peer.credit += body.bytes;
    return;
  }
  peer.consumed += body.bytes;
  // In quarters: one message for many, while the sender is never without credit for long.
  if (peer.consumed == 0 || peer.consumed < limits_.inline_credit / 4) return;
  peer.held -= peer.consumed;
  out.push_back(transmit(source, credit{.bytes = std::exchange(peer.consumed, 0)}));
}

void endpoint::fail_receive(operation_id id, errc code, actions& out) {
  (void)queue_.withdraw_receive(slot_of(id));
  complete(id, code, out);
}

void endpoint::fail_send(operation_id id, errc code, actions& out) {
  operation& op = *operations_.find(id);
  if (op.details.peer == self_) {
    for (std::uint32_t i = 0; i < messages_.size(); ++i) {
      if (!messages_[i].present || messages_[i].source != self_ || messages_[i].envelope.send != id) continue;
      (void)queue_.withdraw_message(i);
      forget(i);
    }
  }
  if (op.published)
    out.push_back({.type = action_type::revoke, .operation = id, .code = code});
  else
    complete(id, code, out);
}

void endpoint::fail_if_alone(actions& out) {
  if (present_peers_ > 0 || peers_.size() == 1) return;
  const auto waiting =
      operations_.select([](const operation& op) { return op.any_source && op.state == operation_state::unmatched; });
  for (const operation_id id : waiting) fail_receive(id, last_gone_, out);
}

void endpoint::become_matched(operation& op) noexcept {
  op.state = operation_state::matched;
  if (op.details.phase < phase::matched) op.details.phase = phase::matched;
  ++in_flight_;
}

void endpoint::complete(operation_id id, boost::system::error_code code, actions& out) {
  operation& op = *operations_.find(id);
  if (op.state == operation_state::matched) --in_flight_;
  if (!code) op.details.phase = phase::done;
  out.push_back({.type = action_type::complete,
                 .route = op.route,
                 .operation = id,
                 .code = code,
                 .details = std::move(op.details)});
  operations_.release(id);
}

}  // namespace weft::protocol
