// SPDX-License-Identifier: Apache-2.0
// Matches that wait for their user: one who wants to see a message before it is received, and one who has room for the
// rest of a message only after its head has been read.
#include "protocol/endpoint.hpp"

#include "protocol/action_makers.hpp"

#include <utility>

namespace weft::protocol {

void endpoint::start_examine(operation_id id, const origin& where, actions& out, group_number group) {
  operations_.find(id)->examines = true;
  start_receive(id, where, {}, out, group);
}

operation* endpoint::find_held(operation_id id) noexcept {
  operation* op = operations_.find(id);
  return op != nullptr && op->is_held ? op : nullptr;
}

void endpoint::hold(operation_id receive, actions& out) {
  operation& op = *operations_.find(receive);
  op.is_held = true;
  out.push_back({.type = action_type::held, .operation = receive, .details = op.details});
}

bool endpoint::resume(operation_id id, const payload_shape& shape, actions& out) {
  operation* op = find_held(id);
  if (op == nullptr) return false;
  op->is_held = op->examines = false;
  const std::uint32_t message = take_match(*op);
  if (!op->has_head) {
    op->details.here = shape;
    settle_match(id, message, payload_place::kept, out);
  } else if (uses_log(messages_[message].envelope.route) && log_lost_) {
    fail_match(id, message, errc::sequencer_lost, payload_place::kept, out);
  } else {
    carry(id, message, payload_place::kept, out);
  }
  return true;
}

bool endpoint::refuse_held(operation_id id, errc code, std::string reason, actions& out) {
  operation* op = find_held(id);
  if (op == nullptr) return false;
  op->details.reason = std::move(reason);
  fail_match(id, take_match(*op), code, payload_place::kept, out);
  return true;
}

bool endpoint::discard_held(operation_id id, boost::system::error_code code, actions& out) {
  const operation* op = find_held(id);
  if (op == nullptr) return false;
  const held_message dropped = messages_[op->message];
  const announce& body = dropped.envelope;
  const bool is_over = body.arrived_whole() && body.wants_verdict == 0;  // for its sender
  if (dropped.source != self_ && !is_over) transmit(out, dropped.source, accepted{.send = body.send});
  complete(id, code, out);
  if (dropped.source == self_ && operations_.find(body.send) != nullptr) end_send(body.send, {}, out);
  return true;
}

// ---- messages in two parts

void endpoint::carry_head(operation_id receive, std::uint32_t message, payload_place place, actions& out) {
  const held_message found = messages_[message];
  const announce& body = found.envelope;
  if (body.has_payload != 0) {
    if (place == payload_place::arriving)
      about(out, action_type::take_payload, receive);
    else
      about_message(out, action_type::use_kept, message, receive);
    messages_.set_has_payload(message, false);
    give_credit(found.source, body, out);
  } else if (found.source == self_) {
    out.push_back({.type = action_type::copy_local, .operation = body.send, .other = receive, .bytes = body.head});
  } else {
    return ask_for_head(receive, message, out);
  }
  head_arrived(receive, message, out);
}

// The message stays in its slot, for the rest of it.
void endpoint::ask_for_head(operation_id receive, std::uint32_t message, actions& out) {
  const held_message found = messages_[message];
  operation& op = *operations_.find(receive);
  messages_.set_receive(message, receive);
  op.message = message;
  become_matched(op);
  op.remaining = found.envelope.head;
  out.push_back(
      {.type = action_type::expect_stream, .peer = found.source, .operation = receive, .bytes = found.envelope.head});
  transmit(out, found.source, clear{.send = found.envelope.send, .receive = receive});
}

void endpoint::head_arrived(operation_id receive, std::uint32_t message, actions& out) {
  operation& op = *operations_.find(receive);
  op.has_head = true;
  keep_match(receive, message, payload_place::kept, out);
  if (closed_) return complete(receive, errc::closed, out);
  if (op.leaving == errc{}) return hold(receive, out);
  op.is_held = true;
  (void)discard_held(receive, op.leaving, out);
}

void endpoint::start_stream(operation& op, int peer, const clear& body, std::uint64_t offset, std::uint64_t bytes,
                            actions& out) {
  if (op.state != operation_state::matched) become_matched(op);
  op.details.phase = phase::transferring;
  ++op.streams;
  out.push_back({.type = action_type::start_stream,
                 .peer = peer,
                 .operation = body.send,
                 .other = body.receive,
                 .bytes = bytes,
                 .offset = offset});
}

}  // namespace weft::protocol
