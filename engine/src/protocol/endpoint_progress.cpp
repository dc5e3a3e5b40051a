// SPDX-License-Identifier: Apache-2.0
// What becomes of operations after they were announced or matched: answers, payload, the log, lost peers.
#include "protocol/endpoint.hpp"

#include "protocol/action_makers.hpp"

#include <utility>

namespace weft::protocol {
namespace {

/// Codes that a receiver may refuse with; anything else is not of this protocol.
bool is_refusal(std::uint32_t code) noexcept {
  switch (static_cast<errc>(code)) {
    case errc::size_mismatch:
    case errc::element_type_mismatch:
    case errc::object_type_mismatch:
    case errc::kind_mismatch:
    case errc::memory_mismatch:
    case errc::message_too_large:
    case errc::too_many_unmatched:
    case errc::sequencer_lost:
    case errc::malformed_frame:
    case errc::refused:
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

bool endpoint::on_clear(int peer, const clear& body, actions& out) {
  operation* op = find(body.send, operation_kind::send, peer);
  // Ended here meanwhile, by a close: the goodbye that follows tells the receiver.
  if (op == nullptr) return true;
  const payload_shape& shape = op->details.here;
  const std::uint64_t head = shape.head < shape.bytes ? shape.head : 0;
  if (op->carried || !op->ready) return false;
  if (head != 0 && !op->has_head) {
    op->has_head = true;
    start_stream(*op, peer, body, 0, head, out);
    return true;
  }
  if (uses_log(op->route) || std::exchange(op->has_body, true)) return false;
  start_stream(*op, peer, body, head, shape.bytes - head, out);
  return true;
}

bool endpoint::on_accepted(int peer, const accepted& body, actions& out) {
  const operation* op = find(body.send, operation_kind::send, peer);
  if (op == nullptr) return true;
  if (op->has_body) return false;
  end_send(body.send, {}, out);
  return true;
}

bool endpoint::on_refused(int peer, const refused& body, std::string_view reason, actions& out) {
  if (!is_refusal(body.code) || !is_valid(body)) return false;
  const auto code = static_cast<errc>(body.code);
  const payload_shape wanted{.bytes = body.wanted_bytes, .kind = body.wanted_kind, .element = body.wanted_element};
  if (operation* op = find(body.send, operation_kind::send, peer)) {
    if (op->has_body || (op->state == operation_state::matched && op->streams == 0)) return false;
    op->details.there = wanted;
    op->details.reason = reason;
    op->details.phase = phase_of(code);
    end_send(body.send, code, out);
    return true;
  }
  action late{.type = action_type::report_late, .peer = peer, .code = code};
  late.details.operation = operation_kind::send;
  late.details.phase = phase_of(code);
  late.details.peer = peer;
  late.details.tag = body.tag;
  late.details.here = {.bytes = body.sent_bytes, .kind = body.sent_kind, .element = body.sent_element};
  late.details.there = wanted;
  late.details.reason = reason;
  out.push_back(std::move(late));
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
    if (!messages_[i].waits() || messages_[i].source != peer || messages_[i].envelope.arrived_whole()) continue;
    (void)queue_.withdraw_message(i);
    discard(i, out);
  }
  const auto concerned = operations_.select(
      [peer](const operation& op) { return op.details.peer == peer && op.state != operation_state::allocated; });
  for (const operation_id id : concerned) {
    const operation& op = *operations_.find(id);
    if (op.details.operation == operation_kind::send) {
      operations_.find(id)->streams = 0;  // its link has let go of everything
      end_send(id, op.verdict.value_or(why), out);
    } else if (op.state == operation_state::unmatched)
      fail_receive(id, why, out);
    else if (op.state == operation_state::paired && messages_[op.message].envelope.arrived_whole())
      continue;  // it waits for nothing of the peer's
    else if (!op.published)
      complete(id, why, out);
    // A matched receive in the log is failed by the launch thread, which knows whether it had begun.
  }
  fail_those_alone(out);
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
  if (op->remaining != 0) return;
  if (op->message == no_slot) return complete(id, {}, out);
  --in_flight_;
  head_arrived(id, take_match(*op), out);
}

void endpoint::on_stream_sent(operation_id id, actions& out) {
  operation* op = operations_.find(id);
  if (op == nullptr || --op->streams != 0) return;
  if (op->verdict) return end_send(id, *op->verdict, out);
  if (op->has_body) return complete(id, {}, out);
  op->state = operation_state::unmatched;  // for the receiver to ask for the rest, or for the log
  --in_flight_;
  if (closed_) end_send(id, errc::closed, out);
}

void endpoint::on_transferred(operation_id id, boost::system::error_code code, actions& out) {
  operation* op = operations_.find(id);
  if (op == nullptr) return;
  op->details.phase = phase::transferring;
  if (op->streams == 0) return complete(id, code, out);
  op->published = false;
  op->verdict = code;
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
  for (const operation_id id : operations_.select([](const operation& op) { return op.published; })) {
    if (operation& op = *operations_.find(id); op.streams != 0)
      op.verdict = errc::sequencer_lost;
    else
      out.push_back({.type = action_type::revoke, .operation = id, .code = errc::sequencer_lost});
  }
  const auto unready = operations_.select([this](const operation& op) {
    return op.state == operation_state::paired && uses_log(messages_[op.message].envelope.route);
  });
  for (const operation_id id : unready) complete(id, errc::sequencer_lost, out);
}

}  // namespace weft::protocol
