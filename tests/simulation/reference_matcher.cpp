// SPDX-License-Identifier: Apache-2.0
#include "reference_matcher.hpp"

#include <utility>

namespace weft::simulation {

bool reference_matcher::satisfies(int send, int receive) const {
  const auto& all = program_->operations;
  return program_->satisfies(all[static_cast<std::size_t>(send)], all[static_cast<std::size_t>(receive)]);
}

void reference_matcher::arrive(int send) {
  order_[send] = ++events_;
  offer(send);
}

void reference_matcher::post(int receive) {
  order_[receive] = ++events_;
  serve(receive);
}

void reference_matcher::drop(std::set<int> sends) {
  for (const int send : sends) messages_.erase(order_[send]);
  dropped_ = std::move(sends);
}

void reference_matcher::offer(int send) {
  if (dropped_.contains(send)) return;
  for (const auto& [order, receive] : receives_) {
    if (!satisfies(send, receive)) continue;
    pairs_[receive] = send;
    receives_.erase(order);
    return;
  }
  messages_.emplace(order_[send], send);
}

void reference_matcher::serve(int receive) {
  for (const auto& [order, send] : messages_) {
    if (!satisfies(send, receive)) continue;
    pairs_[receive] = send;
    messages_.erase(order);
    return;
  }
  receives_.emplace(order_[receive], receive);
}

void reference_matcher::leave(const std::set<int>& operations) {
  for (const int operation : operations) {
    messages_.erase(order_[operation]);
    receives_.erase(order_[operation]);
  }
  const auto parted = pairs_;
  for (const auto& [receive, send] : parted) {
    const bool receive_leaves = operations.contains(receive);
    const bool send_leaves = operations.contains(send);
    if (!receive_leaves && !send_leaves) continue;
    pairs_.erase(receive);
    if (!send_leaves) offer(send);
    if (!receive_leaves) serve(receive);
  }
}

std::optional<int> reference_matcher::message_of(int receive) const {
  const auto found = pairs_.find(receive);
  return found == pairs_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<int> reference_matcher::partner_of(int operation) const {
  for (const auto& [receive, send] : pairs_) {
    if (receive == operation) return send;
    if (send == operation) return receive;
  }
  return std::nullopt;
}

}  // namespace weft::simulation
