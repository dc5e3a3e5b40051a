// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/engine/buffer.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace boost::system {
class error_code;
}

namespace weft {

enum class operation_kind : std::uint8_t { none, send, receive };

/// How far an operation had come.
enum class phase : std::uint8_t {
  starting,      ///< its arguments were being checked
  unmatched,     ///< announced or posted, and not matched yet
  matched,       ///< the two ends know of each other; no byte of a large payload has moved
  transferring,  ///< the payload is under way
  done,
};

/// What a message holds: raw memory, or serialized objects.
enum class payload_kind : std::uint8_t { buffer, objects };

/// One end's description of a message: what matching compares.
struct payload_shape {
  std::uint64_t bytes = 0;
  payload_kind kind = payload_kind::buffer;
  element_type element = element_type::bytes;  ///< of buffers
  memory_kind memory = memory_kind::host;
  std::uint64_t fingerprint = 0;  ///< of the objects' types
};

/// An operation as an error report needs it. `peer` is -1 for a receive from any source that was not matched.
struct operation_details {
  operation_kind operation = operation_kind::none;
  weft::phase phase = weft::phase::starting;
  int peer = -1;
  std::uint64_t tag = 0;
  bool any_tag = false;  ///< `tag` is unknown: the receive took any tag and was not matched
  payload_shape here;    ///< this end
  payload_shape there;   ///< the other end, once known (mismatches)
  std::string reason;    ///< what a serializer had to say, else empty

  [[nodiscard]] std::uint64_t bytes() const noexcept { return here.bytes; }
};

/// "send" or "receive".
[[nodiscard]] std::string_view name(operation_kind kind) noexcept;
[[nodiscard]] std::string_view name(phase at) noexcept;

/// One sentence: operation, peer, tag, bytes, phase, and where the two ends differ.
[[nodiscard]] std::string describe(const boost::system::error_code& code, const operation_details& details);

}  // namespace weft
