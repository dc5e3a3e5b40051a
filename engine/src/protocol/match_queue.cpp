// SPDX-License-Identifier: Apache-2.0
#include "protocol/match_queue.hpp"

#include <algorithm>
#include <cassert>

namespace weft::protocol {
namespace {

template <class T>
T& grown_to(std::vector<T>& slots, std::uint32_t slot) {
  if (slot >= slots.size()) slots.resize(slot + std::size_t{1});
  return slots[slot];
}

}  // namespace

std::optional<std::uint32_t> match_queue::arrive(std::uint32_t message, int source, std::uint64_t tag) {
  assert(!unexpected_.contains(message) && "a message of this slot waits already");
  grown_to(messages_, message) = {.arrival = ++arrivals_, .tag = tag, .source = source};
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
  const auto satisfied = patterns_matching(offered.source, offered.tag);
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

std::vector<std::uint32_t> match_queue::withdraw_messages_from(int source) {
  const pattern all_of_it{.source = source, .any_source = false, .tag = 0, .any_tag = true};
  std::vector<std::uint32_t> withdrawn;
  for (std::uint32_t next; (next = unexpected_.first(all_of_it)) != no_slot;) {
    unexpected_.remove(next);
    withdrawn.push_back(next);
  }
  return withdrawn;
}

std::vector<std::uint32_t> match_queue::receives_from(int source) const {
  std::vector<std::uint32_t> found;
  for (std::uint32_t slot = 0; slot < receives_.size(); ++slot) {
    const pattern& wanted = receives_[slot].wanted;
    if (posted_.contains(slot) && !wanted.any_source && wanted.source == source) found.push_back(slot);
  }
  std::sort(found.begin(), found.end(),
            [this](std::uint32_t a, std::uint32_t b) { return posted_.order_of(a) < posted_.order_of(b); });
  return found;
}

}  // namespace weft::protocol
