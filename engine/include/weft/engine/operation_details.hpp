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

/// What an operation does; `none` in errors that are about no operation.
enum class operation_kind : std::uint8_t { none, send, receive, split, reserve, lease };

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
  std::uint64_t bytes = 0;                     ///< of payload
  payload_kind kind = payload_kind::buffer;    ///< both ends must have the same
  element_type element = element_type::bytes;  ///< of buffers
  memory_kind memory = memory_kind::host;      ///< where the bytes lie at this end; the other may differ
  std::uint64_t fingerprint = 0;               ///< of the objects' types
  std::uint64_t head = 0;                      ///< of the bytes, those that come first; 0 where all come at once
};

/// An operation as an error report needs it.
struct operation_details {
  operation_kind operation = operation_kind::none;  ///< what it does
  weft::phase phase = weft::phase::starting;        ///< how far it had come
  int peer = -1;          ///< the rank of the other end; -1 for a receive from any source that was not matched
  std::uint64_t tag = 0;  ///< the message's
  bool any_tag = false;   ///< `tag` is unknown: the receive took any tag and was not matched
  payload_shape here;     ///< this end
  payload_shape there;    ///< the other end, once known (mismatches)
  std::string reason;     ///< what there is to say beyond the code, else empty

  /// Of payload, at this end.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return here.bytes; }
};

/// "send", "receive", "split", "reserve", "lease".
[[nodiscard]] std::string_view name(operation_kind kind) noexcept;
/// The name of the enumerator.
[[nodiscard]] std::string_view name(phase at) noexcept;

/// One sentence: operation, peer, tag, bytes, phase, and where the two ends differ.
[[nodiscard]] std::string describe(const boost::system::error_code& code, const operation_details& details);

}  // namespace weft
