// SPDX-License-Identifier: Apache-2.0
// How announced messages and posted receives meet, and how a match is undone.
#include "protocol/endpoint.hpp"

#include "protocol/action_makers.hpp"
#include "protocol/mutation.hpp"

#include <utility>

namespace weft::protocol {

bool endpoint::on_announce(int peer, const announce& body, actions& out) {
  if (!is_valid(body)) return false;
  peer_state& from = peer_at(peer);
  if (body.payload_bytes() > limits_.inline_credit - from.held) return false;
  from.held += body.payload_bytes();
  if (closed_) {
    if (body.has_payload != 0) about(out, action_type::drop_payload, 0);
    return true;
  }
  const std::uint32_t message = messages_.hold(peer, body);
  if (const auto receive = queue_.arrive(message)) {
    match(operations_.name_of(*receive), message, payload_place::arriving, out);
    return true;
  }
  if (queue_.unexpected_count() > limits_.max_unmatched) {
    (void)queue_.withdraw_message(message);
    messages_.release(message);
    if (body.has_payload != 0) {
      about(out, action_type::drop_payload, 0);
      give_credit(peer, body, out);
    }
    refuse(peer, body, errc::too_many_unmatched, body.shape(), {}, out);
    return true;
  }
  if (body.has_payload != 0) about_message(out, action_type::keep_payload, message);
  return true;
}

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

void endpoint::match(operation_id receive, std::uint32_t message, payload_place place, actions& out) {
  operation& op = *operations_.find(receive);
  const announce& body = messages_[message].envelope;
  op.details.peer = messages_.source_of(message);
  op.details.tag = body.tag;
  op.details.any_tag = false;
  op.details.phase = phase::matched;
  if (!op.examines) return settle_match(receive, message, place, out);
  op.details.here = body.shape();
  keep_match(receive, message, place, out);
  hold(receive, out);
}

void endpoint::settle_match(operation_id receive, std::uint32_t message, payload_place place, actions& out) {
  operation& op = *operations_.find(receive);
  const announce body = messages_[message].envelope;
  errc problem = compare(op, body);
  if (problem == errc{} && uses_log(body.route) && log_lost_) problem = errc::sequencer_lost;
  if (problem == errc::message_too_large) op.details.here.bytes = limits_.max_object_bytes;  // what would be taken
  if (problem != errc{}) return fail_match(receive, message, problem, place, out);
  op.details.here.bytes = body.bytes;
  op.details.here.head = body.head;
  if (body.kind == payload_kind::objects) op.details.here.memory = body.memory;
  const bool left_to_stream = is_mutated(mutation::readiness_on_stream) && uses_log(body.route);
  if ((op.ready && body.is_ready != 0) || left_to_stream) return carry(receive, message, place, out);
  // A match that is not ready stays here, where either end can have its half back: the log takes no entry that might
  // not be carried out at once, and its batches wait for no kernel, which might wait for them.
  keep_match(receive, message, place, out);
}

void endpoint::carry(operation_id receive, std::uint32_t message, payload_place place, actions& out) {
  const announce body = messages_[message].envelope;
  if (body.comes_in_two() && !operations_.find(receive)->has_head) return carry_head(receive, message, place, out);
  if (body.has_payload != 0) return carry_inline(receive, message, place, out);
  if (uses_log(body.route)) return carry_through_log(receive, message, out);
  if (messages_.source_of(message) == self_) return carry_locally(receive, message, out);
  carry_on_link(receive, message, out);
}

void endpoint::keep_match(operation_id receive, std::uint32_t message, payload_place place, actions& out) {
  operation& op = *operations_.find(receive);
  op.state = operation_state::paired;
  op.message = message;
  messages_.set_receive(message, receive);
  if (messages_[message].envelope.has_payload != 0 && place == payload_place::arriving)
    about_message(out, action_type::keep_payload, message);
}

void endpoint::carry_if_ready(operation_id receive, actions& out) {
  operation& op = *operations_.find(receive);
  if (op.state != operation_state::paired || op.is_held) return;
  if (!op.ready || messages_[op.message].envelope.is_ready == 0) return;
  carry(receive, take_match(op), payload_place::kept, out);
}

std::uint32_t endpoint::take_match(operation& op) {
  const std::uint32_t message = std::exchange(op.message, no_slot);
  messages_.set_receive(message, 0);
  op.state = operation_state::unmatched;  // and in no queue: as it is when it is matched
  return message;
}

bool endpoint::on_ready(int peer, const ready& body, actions& out) {
  const std::uint32_t message = messages_.find(peer, body.send);
  if (message == no_slot) return true;  // withdrawn, or failed, meanwhile
  const held_message held = messages_[message];
  if (held.envelope.is_ready != 0) return false;
  messages_.set_ready(message);
  if (held.receive != 0) carry_if_ready(held.receive, out);
  return true;
}

void endpoint::carry_inline(operation_id receive, std::uint32_t message, payload_place place, actions& out) {
  const held_message used = messages_[message];
  messages_.release(message);
  if (place == payload_place::arriving)
    about(out, action_type::take_payload, receive);
  else
    about_message(out, action_type::use_kept, message, receive);
  give_credit(used.source, used.envelope, out);
  if (used.envelope.wants_verdict != 0) transmit(out, used.source, accepted{.send = used.envelope.send});
  complete(receive, {}, out);
}

void endpoint::carry_locally(operation_id receive, std::uint32_t message, actions& out) {
  const announce body = messages_[message].envelope;
  messages_.release(message);
  const std::uint64_t done = operations_.find(receive)->has_head ? body.head : 0;
  out.push_back({.type = action_type::copy_local,
                 .operation = body.send,
                 .other = receive,
                 .bytes = body.bytes - done,
                 .offset = done});
  complete(body.send, {}, out);
  complete(receive, {}, out);
}

void endpoint::carry_on_link(operation_id receive, std::uint32_t message, actions& out) {
  const held_message used = messages_[message];
  messages_.release(message);
  operation& op = *operations_.find(receive);
  become_matched(op);
  const std::uint64_t done = op.has_head ? used.envelope.head : 0;
  op.remaining = used.envelope.bytes - done;
  out.push_back({.type = action_type::expect_stream,
                 .peer = used.source,
                 .operation = receive,
                 .bytes = op.remaining,
                 .offset = done});
  transmit(out, used.source, clear{.send = used.envelope.send, .receive = receive});
}

// The message stays in its slot: until its entry is in the log, either end may take its half back.
void endpoint::carry_through_log(operation_id receive, std::uint32_t message, actions& out) {
  operation& op = *operations_.find(receive);
  messages_.set_receive(message, receive);
  become_matched(op);
  op.published = true;
  op.message = message;
  op.route = messages_[message].envelope.route;
  const protocol::match found = match_of(receive, op);
  out.push_back({.type = action_type::expect_stream,
                 .operation = receive,
                 .bytes = found.bytes,
                 .offset = op.has_head ? messages_[message].envelope.head : 0});
  out.push_back({.type = action_type::publish, .peer = found.source, .operation = receive});
  out.push_back({.type = action_type::report_match, .match = found});
  if (found.source == self_) become_matched(*operations_.find(found.send));
}

protocol::match endpoint::match_of(operation_id receive, const operation& op) {
  const held_message held = messages_[op.message];
  const std::uint64_t bytes = held.envelope.bytes - (op.has_head ? held.envelope.head : 0);
  return {op.route, held.source, self_, held.envelope.send, receive, bytes, held.envelope.group};
}

void endpoint::fail_match(operation_id receive, std::uint32_t message, errc code, payload_place place, actions& out) {
  const held_message failed = messages_[message];
  const announce& body = failed.envelope;
  messages_.release(message);
  if (body.has_payload != 0) {
    if (place == payload_place::arriving)
      about(out, action_type::drop_payload, 0);
    else
      about_message(out, action_type::drop_kept, message);
    give_credit(failed.source, body, out);
  }
  operation& op = *operations_.find(receive);
  op.details.there = body.shape();
  refuse(failed.source, body, code, op.details.here, op.details.reason, out);
  complete(receive, code, out);
}

void endpoint::refuse(int source, const announce& body, errc code, const payload_shape& wanted, std::string_view reason,
                      actions& out) {
  const refused verdict{.send = body.send,
                        .tag = body.tag,
                        .code = static_cast<std::uint32_t>(code),
                        .sent_kind = body.kind,
                        .sent_element = body.element,
                        .wanted_kind = wanted.kind,
                        .wanted_element = wanted.element,
                        .sent_bytes = body.bytes,
                        .wanted_bytes = wanted.bytes};
  if (source == self_) return (void)on_refused(self_, verdict, reason, out);
  transmit(out, source, verdict);
  out.back().details.reason = reason.substr(0, refused::most_text);
}

// ---- parting

// No answer where it is too late: the end of the message is on its way to the sender already, or its head is here and
// the user about to ask for the rest.
bool endpoint::on_withdraw(int peer, const withdraw& body, actions& out) {
  const std::uint32_t message = messages_.find(peer, body.send);
  if (message == no_slot) return true;
  if (queue_.withdraw_message(message)) {
    discard(message, out);
    tell_withdrawn(peer, body.send, out);
    return true;
  }
  const operation_id matched = messages_[message].receive;
  operation& receive = *operations_.find(matched);
  if (receive.has_head || !(receive.published || receive.state == operation_state::paired)) return true;
  if (receive.is_held) {
    complete(matched, errc::withdrawn, out);
    tell_withdrawn(peer, body.send, out);
    return true;
  }
  receive.sender_leaves = true;
  if (receive.state == operation_state::paired)
    undo_match(matched, out);
  else
    ask_back(matched, receive, out);
  return true;
}

void endpoint::tell_withdrawn(int source, operation_id send, actions& out) {
  if (source != self_)
    transmit(out, source, withdrawn{.send = send});
  else
    (void)on_withdrawn(self_, {.send = send}, out);
}

bool endpoint::on_withdrawn(int peer, const withdrawn& body, actions& out) {
  const operation* op = find(body.send, operation_kind::send, peer);
  if (op == nullptr) return true;  // it has ended meanwhile
  if (op->leaving == errc{} || op->state == operation_state::matched) return false;
  end_send(body.send, op->leaving, out);
  return true;
}

// Only the sequencer knows whether a match is in the log. The first end that wants to leave asks, for both.
void endpoint::ask_back(operation_id receive, operation& op, actions& out) {
  if (std::exchange(op.asks_back, true)) return;
  out.push_back({.type = action_type::ask_back, .match = match_of(receive, op)});
}

void endpoint::on_match_withdrawal(operation_id receive, bool granted, actions& out) {
  const operation* op = operations_.find(receive);
  if (granted && op != nullptr && op->asks_back) undo_match(receive, out);
}

// Whichever end does not leave goes back to its old place in the queue.
void endpoint::undo_match(operation_id receive, actions& out) {
  operation& op = *operations_.find(receive);
  const std::uint32_t message = std::exchange(op.message, no_slot);
  const bool sender_leaves = op.sender_leaves;
  const errc receiver_leaves = op.leaving;
  messages_.set_receive(message, 0);
  op.sender_leaves = op.is_held = false;
  if (op.state == operation_state::matched) leave_log(message, receive, op, out);
  op.state = operation_state::unmatched;
  if (op.has_head) {  // which is used up: there is nothing to give back
    keep_match(receive, message, payload_place::kept, out);
    op.is_held = true;
    return (void)discard_held(receive, receiver_leaves, out);
  }

  if (receiver_leaves != errc{}) complete(receive, receiver_leaves, out);
  if (sender_leaves) {
    const held_message dropped = messages_[message];
    discard(message, out);
    tell_withdrawn(dropped.source, dropped.envelope.send, out);
  } else {
    restore_message(message, out);
  }
  if (receiver_leaves == errc{}) restore_receive(receive, out);
}

void endpoint::leave_log(std::uint32_t message, operation_id receive, operation& op, actions& out) {
  about(out, action_type::unpublish, receive);
  op.published = op.asks_back = false;
  --in_flight_;
  if (messages_.source_of(message) != self_) return;
  operations_.find(messages_[message].envelope.send)->state = operation_state::unmatched;
  --in_flight_;
}

void endpoint::restore_message(std::uint32_t message, actions& out) {
  const bool arrived_whole = messages_[message].envelope.arrived_whole();
  if (closed_ || (peer_at(messages_.source_of(message)).gone && !arrived_whole)) return discard(message, out);
  if (const auto receive = queue_.put_back_message(message))
    match(operations_.name_of(*receive), message, payload_place::kept, out);
}

void endpoint::restore_receive(operation_id receive, actions& out) {
  operation& op = *operations_.find(receive);
  op.route = weft::route::automatic;
  op.details.phase = phase::unmatched;
  op.details.any_tag = op.any_tag;
  if (op.details.here.kind == payload_kind::objects)
    op.details.here = {.kind = payload_kind::objects, .fingerprint = op.details.here.fingerprint};
  const int source = op.details.peer;
  if (op.any_source) op.details.peer = -1;
  if (closed_) return complete(receive, errc::closed, out);
  if (const auto message = queue_.put_back_receive(slot_of(receive)))
    return match(receive, *message, payload_place::kept, out);
  if (!op.any_source && is_gone(source)) return fail_receive(receive, peer_at(source).why, out);
  if (op.any_source && is_alone(op.group)) fail_receive(receive, last_gone_, out);
}

void endpoint::discard(std::uint32_t message, actions& out) {
  const held_message dropped = messages_[message];
  messages_.release(message);
  if (dropped.envelope.has_payload == 0) return;
  about_message(out, action_type::drop_kept, message);
  give_credit(dropped.source, dropped.envelope, out);
}

void endpoint::give_credit(int source, const announce& body, actions& out) {
  peer_state& peer = peer_at(source);
  if (is_mutated(mutation::leak_credit)) return;
  if (source == self_) {
    peer.credit += body.payload_bytes();
    return;
  }
  peer.consumed += body.payload_bytes();
  // In quarters: one message for many, while the sender is never without credit for long.
  if (peer.consumed == 0 || peer.consumed < limits_.inline_credit / 4) return;
  peer.held -= peer.consumed;
  transmit(out, source, credit{.bytes = std::exchange(peer.consumed, 0)});
}

}  // namespace weft::protocol
