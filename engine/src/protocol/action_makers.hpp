// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocol/actions.hpp"

#include <cstring>

namespace weft::protocol {

/// The body of a message as an action that puts it on the link.
template <class Body>
[[nodiscard]] action transmit(int peer, const Body& body, operation_id payload_of = 0) {
  action next{.type = action_type::transmit, .message_kind = Body::type, .peer = peer, .operation = payload_of};
  static_assert(sizeof(Body) <= sizeof(message_body));
  std::memcpy(&next.body, &body, sizeof(Body));
  return next;
}

[[nodiscard]] inline action about(action_type type, operation_id id) {
  return {.type = type, .operation = id};
}
[[nodiscard]] inline action about_message(action_type type, std::uint32_t message, operation_id id = 0) {
  return {.type = type, .message = message, .operation = id};
}

[[nodiscard]] inline bool uses_log(weft::route which) noexcept {
  return which == weft::route::device || which == weft::route::pair;
}

}  // namespace weft::protocol
