// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocol/actions.hpp"
#include "protocol/messages.hpp"

#include <weft/engine/error.hpp>

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

/// What moves in a simulated group, and what is told of it.
namespace weft::testing {

using payload = std::vector<std::byte>;

inline payload bytes_of(std::string_view text) {
  const auto view = std::as_bytes(std::span(text));
  return {view.begin(), view.end()};
}

struct packet {
  protocol::message_type type = protocol::message_type::announce;
  payload body;     ///< the fixed part
  payload content;  ///< raw bytes behind it
};

/// What a rank says to the sequencer of a match.
struct sequencer_report {
  bool withdraws = false;  ///< asks to forget it
  protocol::match what;
};

struct stream_job {
  int peer = -1;
  protocol::operation_id send = 0;
  protocol::operation_id receive = 0;
  std::size_t sent = 0;
  std::size_t end = 0;  ///< of the part that goes
};

/// An operation that was started, and how it ended.
struct operation_result {
  protocol::operation_id id = 0;
  bool sending = false;
  bool ended = false;
  boost::system::error_code code{};
  operation_details details{};
  payload content{};  ///< sent or received
  bool held = false;  ///< was shown to its user, or its head was

  [[nodiscard]] bool succeeded() const { return ended && !code; }
  [[nodiscard]] bool failed_as(errc why) const { return ended && code == why; }
};

struct late_report {
  boost::system::error_code code;
  operation_details details;
};

}  // namespace weft::testing
