// SPDX-License-Identifier: Apache-2.0
#include "protocol/match_queue.hpp"

#include <cassert>

namespace weft::protocol {
namespace {

template <class T>
T& grown_to(std::vector<T>& slots, std::uint32_t slot) {
  if (slot >= slots.size()) slots.resize(slot + std::size_t{1});
  return slots[slot];
}

}  // namespace

std::optional<std::uint32_t> match_queue::arrive(std::uint32_t message, int source, std::uint64_t tag,
                                                 std::uint64_t group) {
  assert(!unexpected_.contains(message) && "a message of this slot waits already");
  grown_to(messages_, message) = {.arrival = ++arrivals_, .tag = tag, .group = group, .source = source};
  return offer(message);
}

std::optional<std::uint32_t> match_queue::post(std::uint32_t receive, const pattern& wanted) {
  assert(!posted_.contains(receive) && "a receive of this slot waits already");
  grown_to(receives_, receive) = {.posting = ++postings_, .wanted = wanted.canonical()};
  return serve(receive);
}

std::optional<std::uint32_t> match_queue::put_back_message(std::uint32_t message) {
  assert(message < messages_.size() && !unexpected_.contains(message));
  return offer(message);
}

std::optional<std::uint32_t> match_queue::put_back_receive(std::uint32_t receive) {
  assert(receive < receives_.size() && !posted_.contains(receive));
  return serve(receive);
}

std::optional<std::uint32_t> match_queue::offer(std::uint32_t message_slot) {
  const arrived_message& offered = messages_[message_slot];
  const auto satisfied = patterns_matching(offered.source, offered.tag, offered.group);
  if (const std::uint32_t receive = earliest_receive(satisfied); receive != no_slot) {
    posted_.remove(receive);
    return receive;
  }
  unexpected_.insert(message_slot, offered.arrival, satisfied);
  return std::nullopt;
}

std::optional<std::uint32_t> match_queue::serve(std::uint32_t receive_slot) {
  const posted_receive& served = receives_[receive_slot];
  if (const std::uint32_t message = unexpected_.first(served.wanted); message != no_slot) {
    unexpected_.remove(message);
    return message;
  }
  posted_.insert(receive_slot, served.posting, {served.wanted});
  return std::nullopt;
}

std::uint32_t match_queue::earliest_receive(const std::array<pattern, 4>& satisfied) const {
  std::uint32_t earliest = no_slot;
  for (const pattern& key : satisfied) {
    const std::uint32_t candidate = posted_.first(key);
    if (candidate == no_slot) continue;
    if (earliest == no_slot || posted_.order_of(candidate) < posted_.order_of(earliest)) earliest = candidate;
  }
  return earliest;
}

bool match_queue::withdraw_message(std::uint32_t message) {
  if (!unexpected_.contains(message)) return false;
  unexpected_.remove(message);
  return true;
}

bool match_queue::withdraw_receive(std::uint32_t receive) {
  if (!posted_.contains(receive)) return false;
  posted_.remove(receive);
  return true;
}

}  // namespace weft::protocol
