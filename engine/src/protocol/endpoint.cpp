// SPDX-License-Identifier: Apache-2.0
#include "protocol/endpoint.hpp"

#include "protocol/action_makers.hpp"
#include "protocol/mutation.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace weft::protocol {

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

void endpoint::add_group(group_number group, std::vector<int> members) {
  groups_.emplace(group, std::move(members));
}

// ---- the user's side

weft::route endpoint::route_of(const destination& where, const payload_shape& shape) const noexcept {
  weft::route chosen = where.route;
  if (chosen == weft::route::automatic) {
    if (shape.memory == memory_kind::device)
      chosen = weft::route::device;
    else
      chosen = shape.bytes <= limits_.eager_limit ? weft::route::inlined : weft::route::host;
  }
  // Their frame goes along, which is in memory of the host: so they come in two parts.
  if (chosen == weft::route::inlined && shape.kind == payload_kind::objects && shape.memory == memory_kind::device)
    chosen = weft::route::host;
  // There is no pair of one rank: its bytes are copied.
  const bool on_device = shape.memory == memory_kind::device && limits_.device_is_apart;
  if (where.rank == self_ && chosen == weft::route::pair) chosen = on_device ? weft::route::device : weft::route::host;
  return chosen;
}

void endpoint::start_send(operation_id id, const destination& where, const payload_shape& shape, actions& out,
                          group_number group, bool ready) {
  operation& op = *operations_.find(id);
  op.group = group;
  op.ready = ready;
  op.details.operation = operation_kind::send;
  op.details.peer = where.rank;
  op.details.tag = where.tag;
  op.details.here = shape;
  if (closed_) return complete(id, errc::closed, out);
  if (!in_group(where.rank)) return complete(id, errc::rank_out_of_range, out);
  if (is_gone(where.rank)) return complete(id, peer_at(where.rank).why, out);
  op.route = route_of(where, shape);
  if (op.route == weft::route::inlined && shape.bytes > limits_.eager_limit) {
    op.details.reason = "the inline route carries up to " + std::to_string(limits_.eager_limit) +
                        " bytes (eager_limit); choose another route, or automatic";
    return complete(id, errc::message_too_large, out);
  }
  if (uses_log(op.route) && log_lost_) return complete(id, errc::sequencer_lost, out);

  const announce body{.send = id,
                      .group = group,
                      .tag = where.tag,
                      .bytes = shape.bytes,
                      .fingerprint = shape.fingerprint,
                      .head = shape.head,
                      .kind = shape.kind,
                      .element = shape.element,
                      .memory = shape.memory,
                      .route = op.route,
                      .has_payload = 0,
                      .wants_verdict = where.point == completion_point::matched,
                      .is_ready = op.ready,
                      .reserved = 0};
  op.state = operation_state::unmatched;
  op.details.phase = phase::unmatched;
  if (uses_log(op.route)) {
    op.published = true;
    out.push_back({.type = action_type::publish,
                   .peer = where.rank,
                   .operation = id,
                   .offset = body.comes_in_two() ? body.head : 0});
  }
  if (where.rank == self_)
    announce_to_self(id, op, body, out);
  else
    announce_to_peer(id, op, body, out);
}

void endpoint::announce_to_peer(operation_id id, operation& op, announce body, actions& out) {
  peer_state& peer = peer_at(op.details.peer);
  // Without credit the bytes stay here until the receiver asks for them: that is the backpressure.
  const bool is_inline = op.route == weft::route::inlined;
  const std::uint64_t first = is_inline ? body.bytes : body.head;
  const bool goes_along = is_inline || (body.comes_in_two() && first <= limits_.eager_limit);
  if (goes_along && op.ready && first <= peer.credit) {
    peer.credit -= first;
    body.has_payload = 1;
    (is_inline ? op.carried : op.has_head) = true;
  }
  transmit(out, op.details.peer, body, body.has_payload != 0 ? id : 0);
  if (op.carried && body.wants_verdict == 0) complete(id, {}, out);
}

void endpoint::announce_to_self(operation_id id, operation& op, announce body, actions& out) {
  const std::uint32_t message = messages_.hold(self_, body);
  if (const auto receive = queue_.arrive(message))
    return match(operations_.name_of(*receive), message, payload_place::kept, out);
  if (queue_.unexpected_count() > limits_.max_unmatched) return end_send(id, errc::too_many_unmatched, out);
  // What is kept of one's own messages is bounded like what is kept of others'.
  std::size_t& credit_left = peer_at(self_).credit;
  if (op.route != weft::route::inlined || !op.ready || body.wants_verdict != 0 || body.bytes > credit_left) return;
  credit_left -= body.bytes;
  messages_.set_has_payload(message, true);
  about_message(out, action_type::keep_local, message, id);
  complete(id, {}, out);
}

void endpoint::start_receive(operation_id id, const origin& where, const payload_shape& shape, actions& out,
                             group_number group, bool ready) {
  operation& op = *operations_.find(id);
  op.group = group;
  op.ready = ready;
  op.details.operation = operation_kind::receive;
  op.details.peer = where.any_rank ? -1 : where.rank;
  op.details.tag = where.tag;
  op.details.any_tag = where.every_tag;
  op.details.here = shape;
  op.any_source = where.any_rank;
  op.any_tag = where.every_tag;
  if (closed_) return complete(id, errc::closed, out);
  if (!where.any_rank && !in_group(where.rank)) return complete(id, errc::rank_out_of_range, out);
  op.state = operation_state::unmatched;
  op.details.phase = phase::unmatched;

  const pattern wanted{
      .source = where.rank, .any_source = where.any_rank, .tag = where.tag, .any_tag = where.every_tag, .group = group};
  if (const auto found = queue_.post(slot_of(id), wanted)) return match(id, *found, payload_place::kept, out);
  if (!where.any_rank && is_gone(where.rank)) return fail_receive(id, peer_at(where.rank).why, out);
  if (where.any_rank && is_alone(group)) fail_receive(id, last_gone_, out);
}

void endpoint::explain(operation_id id, std::string reason) {
  if (operation* op = operations_.find(id)) op->details.reason = std::move(reason);
}

void endpoint::make_ready(operation_id id, actions& out) {
  operation* op = operations_.find(id);
  if (op == nullptr || std::exchange(op->ready, true)) return;
  if (op->details.operation == operation_kind::receive)
    carry_if_ready(id, out);
  else if (op->details.peer == self_)
    (void)on_ready(self_, {.send = id}, out);
  else
    transmit(out, op->details.peer, protocol::ready{.send = id});
}

void endpoint::cancel(operation_id id, errc why, actions& out) {
  operation* op = operations_.find(id);
  if (op == nullptr || op->leaving != errc{}) return;
  const bool receiving = op->details.operation == operation_kind::receive;
  if (op->state == operation_state::unmatched && receiving) return fail_receive(id, why, out);
  if (!receiving && is_mutated(mutation::forget_on_cancel)) return end_send(id, why, out);
  op->leaving = why;
  if (op->is_held && op->has_head) {
    (void)discard_held(id, why, out);
  } else if (op->state == operation_state::paired) {
    undo_match(id, out);
  } else if (receiving) {
    if (op->message != no_slot && op->published) ask_back(id, *op, out);
  } else if (op->details.peer == self_) {
    (void)on_withdraw(self_, {.send = id}, out);
  } else if (op->state == operation_state::unmatched) {
    // Only the receiver knows whether the message is matched. A sender that forgot on its own would leave a receive
    // waiting for bytes that never come, or give it those of another message.
    op->state = operation_state::withdrawing;
    transmit(out, op->details.peer, withdraw{.send = id});
  }
}

void endpoint::close(actions& out) {
  closed_ = true;
  const auto unmatched = operations_.select([](const operation& op) {
    return op.state == operation_state::unmatched || op.state == operation_state::withdrawing ||
           op.state == operation_state::paired;
  });
  for (const operation_id id : unmatched) {
    const operation* op = operations_.find(id);
    if (op == nullptr) continue;
    if (op->details.operation == operation_kind::receive)
      fail_receive(id, errc::closed, out);
    else
      end_send(id, errc::closed, out);
  }
}

void endpoint::end_all(errc code, actions& out) {
  close(out);
  for (const operation_id id : operations_.select([](const operation&) { return true; })) complete(id, code, out);
}

// ---- how operations end

void endpoint::fail_receive(operation_id id, errc code, actions& out) {
  (void)queue_.withdraw_receive(slot_of(id));
  complete(id, code, out);
}

void endpoint::end_send(operation_id id, boost::system::error_code code, actions& out) {
  operation& op = *operations_.find(id);
  if (op.streams != 0) {
    op.verdict = code;
    return;
  }
  if (op.details.peer == self_) {
    const std::uint32_t message = messages_.find(self_, id);
    if (message != no_slot && queue_.withdraw_message(message)) messages_.release(message);
  }
  if (op.published)
    out.push_back({.type = action_type::revoke, .operation = id, .code = code});
  else
    complete(id, code, out);
}

void endpoint::fail_those_alone(actions& out) {
  const auto waiting = operations_.select([this](const operation& op) {
    return op.any_source && op.state == operation_state::unmatched && is_alone(op.group);
  });
  for (const operation_id id : waiting) fail_receive(id, last_gone_, out);
}

/// Whether all other members of a group, which had some, are gone.
bool endpoint::is_alone(group_number group) const {
  const auto all_peers = static_cast<int>(peers_.size()) - 1;
  if (group == root_group || present_peers_ == all_peers) return present_peers_ == 0 && all_peers != 0;
  const auto found = groups_.find(group);
  if (found == groups_.end() || found->second.size() == 1) return false;
  return std::all_of(found->second.begin(), found->second.end(),
                     [this](int member) { return member == self_ || is_gone(member); });
}

void endpoint::become_matched(operation& op) noexcept {
  op.state = operation_state::matched;
  if (op.details.phase < phase::matched) op.details.phase = phase::matched;
  ++in_flight_;
}

void endpoint::complete(operation_id id, boost::system::error_code code, actions& out) {
  operation& op = *operations_.find(id);
  if (op.state == operation_state::matched) --in_flight_;
  if (op.message != no_slot) discard(std::exchange(op.message, no_slot), out);
  if (!code) op.details.phase = phase::done;
  action& end = about(out, action_type::complete, id);
  end.route = op.route;
  end.code = code;
  end.details = std::move(op.details);
  operations_.release(id);
}

}  // namespace weft::protocol
