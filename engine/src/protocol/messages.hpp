// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/engine/operation_details.hpp>
#include <weft/engine/route.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>

/// What two ranks say to each other on their link. Every message is a header and a body of fixed layout, little-endian
/// as all hosts that weft runs on; an announcement with payload and a piece of data are followed by raw bytes.
namespace weft::protocol {

static_assert(std::endian::native == std::endian::little, "the wire format is little-endian and written by memcpy");

/// Names an operation of one rank, on that rank and on the wire: slot index below, generation above. Zero names none.
using operation_id = std::uint64_t;

enum class message_type : std::uint8_t {
  announce = 1,  ///< sender: I have a message for you
  clear,         ///< receiver: it is matched, send its bytes (or its head, and then the rest) to this receive
  data,          ///< sender: bytes of a cleared message
  accepted,      ///< receiver: your message is matched, and what I have not asked for is not needed
  refused,       ///< receiver: your message cannot be received
  withdraw,      ///< sender: forget my message, if that is still possible
  withdrawn,     ///< receiver: forgotten
  credit,        ///< receiver: that much inline payload was consumed
  goodbye,       ///< I close; nothing follows
  ready,         ///< sender: the buffer of my message may be read now
};

struct message_header {
  message_type type;
  std::uint8_t reserved[3];
  std::uint32_t body_bytes;  ///< of the body, raw bytes included
};
static_assert(sizeof(message_header) == 8);

struct announce {
  static constexpr auto type = message_type::announce;
  operation_id send;
  std::uint64_t group;  ///< within which tags and wildcards match
  std::uint64_t tag;
  std::uint64_t bytes;
  std::uint64_t fingerprint;
  std::uint64_t head;  ///< of the bytes, those that the receiver needs before it has room for the others; or 0
  payload_kind kind;
  element_type element;
  memory_kind memory;
  weft::route route;
  std::uint8_t has_payload;    ///< 1: `payload_bytes` raw bytes follow
  std::uint8_t wants_verdict;  ///< 1: tell the sender once it is matched
  std::uint8_t is_ready;       ///< 0: nobody may read its buffer before `ready` has come
  std::uint8_t reserved;

  [[nodiscard]] payload_shape shape() const noexcept { return {bytes, kind, element, memory, fingerprint, head}; }
  /// Of an inline message all, of another its head.
  [[nodiscard]] std::uint64_t payload_bytes() const noexcept {
    if (has_payload == 0) return 0;
    return route == weft::route::inlined ? bytes : head;
  }
  [[nodiscard]] bool arrived_whole() const noexcept { return has_payload != 0 && route == weft::route::inlined; }
  /// The rest comes after the head, once the receiver asks for it.
  [[nodiscard]] bool comes_in_two() const noexcept { return head != 0 && head < bytes && !arrived_whole(); }
};
static_assert(sizeof(announce) == 56);

struct clear {
  static constexpr auto type = message_type::clear;
  operation_id send;
  operation_id receive;
};

struct data {
  static constexpr auto type = message_type::data;
  operation_id receive;
  std::uint64_t bytes;  ///< raw bytes that follow; pieces of one message come in order
};

struct accepted {
  static constexpr auto type = message_type::accepted;
  operation_id send;
};

struct refused {
  static constexpr auto type = message_type::refused;
  operation_id send;
  std::uint64_t tag;
  std::uint32_t code;  ///< an `errc`
  payload_kind sent_kind;
  element_type sent_element;
  payload_kind wanted_kind;
  element_type wanted_element;
  std::uint64_t sent_bytes;
  std::uint64_t wanted_bytes;

  /// Of the text behind it, which says what the code does not. Longer ones are cut.
  static constexpr std::size_t most_text = 1024;
};
static_assert(sizeof(refused) == 40);

struct withdraw {
  static constexpr auto type = message_type::withdraw;
  operation_id send;
};

struct withdrawn {
  static constexpr auto type = message_type::withdrawn;
  operation_id send;
};

struct credit {
  static constexpr auto type = message_type::credit;
  std::uint64_t bytes;
};

struct goodbye {
  static constexpr auto type = message_type::goodbye;
  std::uint64_t reserved;
};

struct ready {
  static constexpr auto type = message_type::ready;
  operation_id send;
};

/// The body of a message, or nothing where there are fewer bytes than that.
template <class Body>
requires std::is_trivially_copyable_v<Body>
[[nodiscard]] std::optional<Body> parse(std::span<const std::byte> bytes) noexcept {
  if (bytes.size() < sizeof(Body)) return std::nullopt;
  Body body;
  std::memcpy(&body, bytes.data(), sizeof(Body));
  return body;
}

/// Enumerations arrive as any byte: whether these are values that exist, and go together.
[[nodiscard]] constexpr bool is_valid(const announce& body) noexcept {
  return body.kind <= payload_kind::objects && body.element <= element_type::c128 &&
         body.memory <= memory_kind::device && body.route > weft::route::automatic && body.route <= weft::route::pair &&
         body.has_payload <= 1 && body.wants_verdict <= 1 && body.is_ready <= 1 && body.head <= body.bytes &&
         (body.head == 0 || body.kind == payload_kind::objects) &&
         (body.has_payload == 0 || (body.is_ready == 1 && (body.route == weft::route::inlined || body.comes_in_two())));
}
[[nodiscard]] constexpr bool is_valid(const refused& body) noexcept {
  return body.sent_kind <= payload_kind::objects && body.sent_element <= element_type::c128 &&
         body.wanted_kind <= payload_kind::objects && body.wanted_element <= element_type::c128;
}

}  // namespace weft::protocol
