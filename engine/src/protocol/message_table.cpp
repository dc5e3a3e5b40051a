// SPDX-License-Identifier: Apache-2.0
#include "protocol/message_table.hpp"

#include "protocol/mutation.hpp"

#include <cassert>

namespace weft::protocol {
namespace {

// A name has a slot below and a generation above, and senders use few slots again and again: a product whose upper
// half depends on all of both.
std::uint64_t hash_of(int source, operation_id send) noexcept {
  const std::uint64_t mixed =
      (send ^ std::uint64_t{static_cast<std::uint32_t>(source)} * 0xbf58476d1ce4e5b9U) * 0x9e3779b97f4a7c15U;
  return mixed >> 32;
}

}  // namespace

struct message_table::chain {
  message_table& of;

  std::uint32_t& next(std::uint32_t message) const noexcept { return of.messages_[message].next; }
  std::uint64_t hash(std::uint32_t message) const noexcept {
    return hash_of(of.source_of(message), of.messages_[message].send);
  }
};

std::uint32_t message_table::hold(int source, const announce& body) {
  if (newest_slot_ != no_slot) store_newest();
  newest_slot_ = messages_.take();
  newest_ = {.source = source, .present = true, .envelope = body};
  return newest_slot_;
}

void message_table::store_newest() {
  const announce& body = newest_.envelope;
  record& stored = messages_[newest_slot_];
  stored.send = body.send;
  stored.bytes = body.bytes;
  stored.fingerprint = body.fingerprint;
  stored.head = body.head;
  stored.receive = 0;
  stored.lane = lanes_.join({body.tag, body.group, newest_.source});
  stored.arrival = ++arrivals_ & last_arrival;
  stored.kind = body.kind;
  stored.element = body.element;
  stored.memory = body.memory;
  stored.route = body.route;
  stored.has_payload = body.has_payload != 0;
  stored.wants_verdict = body.wants_verdict != 0;
  stored.is_ready = body.is_ready != 0;
  names_.insert(newest_slot_, hash_of(newest_.source, body.send), chain{*this});
  newest_slot_ = no_slot;
}

void message_table::release(std::uint32_t slot) {
  assert(!waits(slot) && "a message that waits stops waiting before it ends");
  if (slot == newest_slot_) {
    newest_slot_ = no_slot;
  } else {
    names_.remove(slot, chain{*this}.hash(slot), chain{*this});
    lanes_.leave(messages_[slot].lane);
  }
  messages_.give_back(slot);
}

held_message message_table::stored_message(std::uint32_t slot) const noexcept {
  const record& held = messages_[slot];
  if (held.lane == no_slot) return {};
  const lane& in = lanes_[held.lane];
  return {.source = in.key.source,
          .present = true,
          .envelope = {.send = held.send,
                       .group = in.key.group,
                       .tag = in.key.tag,
                       .bytes = held.bytes,
                       .fingerprint = held.fingerprint,
                       .head = held.head,
                       .kind = held.kind,
                       .element = held.element,
                       .memory = held.memory,
                       .route = held.route,
                       .has_payload = held.has_payload,
                       .wants_verdict = held.wants_verdict,
                       .is_ready = held.is_ready,
                       .reserved = 0},
          .receive = held.waits ? 0 : held.receive};
}

std::uint32_t message_table::find(int source, operation_id send) {
  if (newest_slot_ != no_slot) store_newest();
  std::uint32_t slot = names_.first(hash_of(source, send));
  while (slot != no_slot && (messages_[slot].send != send || source_of(slot) != source)) slot = messages_[slot].next;
  return slot;
}

std::uint32_t message_table::first(const pattern& wanted) const {
  if (waiting_ == 0) return no_slot;
  const std::uint32_t lane = lanes_.first(wanted);
  if (lane == no_slot) return no_slot;
  const bool latest = is_mutated(mutation::wildcard_overtakes) && (wanted.any_source || wanted.any_tag);
  return latest ? lanes_[lane].last : lanes_[lane].first;
}

void message_table::wait(std::uint32_t slot) {
  record& waiting = stored(slot);
  if (is_mutated(mutation::requeue_at_end)) waiting.arrival = ++arrivals_ & last_arrival;
  lane& in = lanes_[waiting.lane];
  const std::uint32_t previous = predecessor(in, waiting.arrival);
  const std::uint32_t next = previous == no_slot ? in.first : messages_[previous].in_lane.next;
  waiting.waits = true;
  waiting.in_lane = {previous, next};
  (previous == no_slot ? in.first : messages_[previous].in_lane.next) = slot;
  (next == no_slot ? in.last : messages_[next].in_lane.previous) = slot;
  ++waiting_;
  if (previous == no_slot) lanes_.begins_with(waiting.lane, waiting.arrival);
}

/// The waiting message that one of this arrival comes behind.
std::uint32_t message_table::predecessor(const lane& among, std::uint64_t arrival) const noexcept {
  if (among.last == no_slot || messages_[among.last].arrival < arrival) return among.last;
  std::uint32_t previous = no_slot;
  for (std::uint32_t next = among.first; messages_[next].arrival < arrival; next = messages_[next].in_lane.next)
    previous = next;
  return previous;
}

bool message_table::stop_waiting(std::uint32_t slot) {
  if (!waits(slot)) return false;
  record& leaving = messages_[slot];
  lane& in = lanes_[leaving.lane];
  const auto [previous, next] = leaving.in_lane;
  (previous == no_slot ? in.first : messages_[previous].in_lane.next) = next;
  (next == no_slot ? in.last : messages_[next].in_lane.previous) = previous;
  leaving.waits = false;
  leaving.receive = 0;
  --waiting_;
  if (previous == no_slot)
    lanes_.begins_with(leaving.lane, next == no_slot ? lane::nothing_waits : messages_[next].arrival);
  return true;
}

}  // namespace weft::protocol
