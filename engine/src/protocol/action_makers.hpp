// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocol/actions.hpp"

#include <cstring>

namespace weft::protocol {

// Actions are made where they are kept: they are large, and few of them use all of it.

inline action& about(actions& out, action_type type, operation_id id) {
  action& next = out.emplace_back();
  next.type = type;
  next.operation = id;
  return next;
}
inline action& about_message(actions& out, action_type type, std::uint32_t message, operation_id id = 0) {
  action& next = about(out, type, id);
  next.message = message;
  return next;
}

/// A message whose body is this; behind it comes the payload of an operation, if any.
template <class Body>
action& transmit(actions& out, int peer, const Body& body, operation_id payload_of = 0) {
  static_assert(sizeof(Body) <= sizeof(message_body));
  action& next = about(out, action_type::transmit, payload_of);
  next.message_kind = Body::type;
  next.peer = peer;
  std::memcpy(&next.body, &body, sizeof(Body));
  return next;
}

[[nodiscard]] inline bool uses_log(weft::route which) noexcept {
  return which == weft::route::device || which == weft::route::pair;
}

}  // namespace weft::protocol
