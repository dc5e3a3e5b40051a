// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocol/messages.hpp"

#include <weft/engine/error.hpp>

#include <cstdint>
#include <vector>

namespace weft::protocol {

/// What an endpoint wants done, in this order. The endpoint itself touches no payload and no link.
enum class action_type : std::uint8_t {
  transmit,      ///< put `body` on the link to `peer`; behind it the payload of `operation`, or the reason in `details`
  take_payload,  ///< the payload that is arriving with the current announcement goes into `operation`
  keep_payload,  ///< ... is kept under `message`, for a receive to come
  drop_payload,  ///< ... is discarded
  use_kept,      ///< the payload kept under `message` goes into `operation`
  drop_kept,     ///< the payload kept under `message` is discarded
  keep_local,    ///< a message to oneself: keep the payload of send `operation` under `message`
  copy_local,    ///< a message to oneself: copy `bytes` from `offset` of send `operation` into receive `other`
  held,  ///< receive `operation` has a message, or its head: `details`. Its user decides (`resume`, `refuse_held`)
  expect_stream,  ///< `bytes` for `operation`, from `offset` on, are about to arrive: from `peer`, or by the log if it
                  ///< is -1
  start_stream,   ///< send `bytes` from `offset` of `operation` to receive `other` of `peer`
  publish,        ///< `operation` may be carried out by the launch thread from now on: its bytes from `offset`
  revoke,         ///< take it back, if the launch thread has not begun; answered by `endpoint::revoked`
  unpublish,      ///< take it back: no entry of the log names it
  report_match,   ///< tell the sequencer of `match`
  ask_back,       ///< ask the sequencer to forget `match`; answered by `endpoint::on_match_withdrawal`
  complete,       ///< the operation is over: `code`, `details`
  report_late,    ///< a message that had completed here failed at its receiver: `code`, `details`
};

/// A matched pair of operations that goes through the log.
struct match {
  weft::route route = weft::route::device;
  int source = -1;
  int destination = -1;
  operation_id send = 0;
  operation_id receive = 0;
  std::uint64_t bytes = 0;
  std::uint64_t group = 0;
};

/// The bodies that endpoints send.
union message_body {
  protocol::announce announce;
  protocol::clear clear;
  protocol::accepted accepted;
  protocol::refused refused;
  protocol::withdraw withdraw;
  protocol::withdrawn withdrawn;
  protocol::credit credit;
  protocol::goodbye goodbye;
  protocol::ready ready;
};

struct action {
  action_type type{};
  message_type message_kind = message_type::announce;  ///< which member of `body`
  weft::route route = weft::route::automatic;          ///< of a completed operation
  int peer = -1;
  std::uint32_t message = 0;
  operation_id operation = 0;
  operation_id other = 0;
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;
  message_body body{};
  protocol::match match{};
  boost::system::error_code code{};
  operation_details details{};
};

using actions = std::vector<action>;

/// The bytes of the body that a `transmit` sends.
[[nodiscard]] inline std::span<const std::byte> body_bytes(const action& transmit) noexcept {
  const auto size = [&] {
    switch (transmit.message_kind) {
      case message_type::announce:
        return sizeof(announce);
      case message_type::clear:
        return sizeof(clear);
      case message_type::accepted:
        return sizeof(accepted);
      case message_type::refused:
        return sizeof(refused);
      case message_type::withdraw:
        return sizeof(withdraw);
      case message_type::withdrawn:
        return sizeof(withdrawn);
      case message_type::credit:
        return sizeof(credit);
      case message_type::goodbye:
        return sizeof(goodbye);
      case message_type::ready:
        return sizeof(ready);
      case message_type::data:
        break;
    }
    return std::size_t{0};
  }();
  return std::as_bytes(std::span(&transmit.body, 1)).first(size);
}

}  // namespace weft::protocol
