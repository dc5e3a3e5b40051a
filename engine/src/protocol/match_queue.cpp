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

std::optional<std::uint32_t> match_queue::arrive(std::uint32_t message) {
  return offer(message);
}

std::optional<std::uint32_t> match_queue::post(std::uint32_t receive, const pattern& wanted) {
  assert(!posted_.contains(receive) && "a receive of this slot waits already");
  grown_to(receives_, receive) = {.posting = ++postings_, .wanted = wanted.canonical()};
  return serve(receive);
}

std::optional<std::uint32_t> match_queue::put_back_message(std::uint32_t message) {
  return offer(message);
}

std::optional<std::uint32_t> match_queue::put_back_receive(std::uint32_t receive) {
  assert(receive < receives_.size() && !posted_.contains(receive));
  return serve(receive);
}

std::optional<std::uint32_t> match_queue::offer(std::uint32_t message_slot) {
  assert(!messages_.waits(message_slot) && "the message waits already");
  if (const std::uint32_t receive = earliest_receive(messages_.patterns_of(message_slot)); receive != no_slot) {
    posted_.remove(receive);
    return receive;
  }
  messages_.wait(message_slot);
  return std::nullopt;
}

std::optional<std::uint32_t> match_queue::serve(std::uint32_t receive_slot) {
  const posted_receive& served = receives_[receive_slot];
  if (const std::uint32_t message = messages_.first(served.wanted); message != no_slot) {
    (void)messages_.stop_waiting(message);
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
  return messages_.stop_waiting(message);
}

bool match_queue::withdraw_receive(std::uint32_t receive) {
  if (!posted_.contains(receive)) return false;
  posted_.remove(receive);
  return true;
}

}  // namespace weft::protocol
