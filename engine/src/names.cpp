// SPDX-License-Identifier: Apache-2.0
#include <weft/engine/buffer.hpp>
#include <weft/engine/error.hpp>
#include <weft/engine/operation_details.hpp>
#include <weft/engine/route.hpp>

#include <array>
#include <charconv>

namespace weft {

namespace detail {
// As in detail/core.hpp, which knows of Asio: this file does not.
void name_types(operation_details& details, std::string_view types);
}  // namespace detail

namespace {

constexpr std::array<std::string_view, route_count> route_names{"automatic", "inline", "host", "device", "pair"};
constexpr std::array<std::string_view, 15> element_names{"bytes", "bool", "i8",   "i16", "i32", "i64", "u16", "u32",
                                                         "u64",   "f16",  "bf16", "f32", "f64", "c64", "c128"};
constexpr std::array<std::string_view, 3> memory_names{"host", "pinned", "device"};
constexpr std::array<std::string_view, 6> operation_names{"operation", "send", "receive", "split", "reserve", "lease"};
constexpr std::string_view same_types = "send and receive the same types, or give renamed types one weft_type_name";
constexpr std::array<std::string_view, 5> phase_names{"starting", "unmatched", "matched", "transferring", "done"};

std::string describe_shape(const payload_shape& shape) {
  std::string size = std::to_string(shape.bytes) + (shape.bytes == 1 ? " byte" : " bytes");
  // A receive of objects takes what comes.
  if (shape.kind == payload_kind::objects) return shape.bytes == 0 ? "objects" : size + " of objects";
  if (shape.element == element_type::bytes) return size;
  return (size + " of ").append(name(shape.element));
}

std::string in_hexadecimal(std::uint64_t number) {
  std::array<char, 16> digits{};
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number, 16).ptr};
}

/// Where it stands beside another type, that it has none must be said.
std::string describe_elements(const payload_shape& shape) {
  const bool typed = shape.kind == payload_kind::objects || shape.element != element_type::bytes;
  return describe_shape(shape) + (typed ? "" : " of no type");
}

std::string describe_difference(const boost::system::error_code& code, const operation_details& details) {
  if (code == errc::message_too_large) {
    const bool sending = details.operation == operation_kind::send;
    return "the message has " + describe_shape(sending ? details.here : details.there) + ", the receiver takes up to " +
           std::to_string((sending ? details.there : details.here).bytes) + " (its max_object_bytes)";
  }
  if (code == errc::object_type_mismatch) return std::string(same_types);
  return "this end has " + describe_elements(details.here) + ", the other " + describe_elements(details.there);
}

std::string describe_peer(const boost::system::error_code& code, const operation_details& details) {
  if (details.operation == operation_kind::send) return " to rank " + std::to_string(details.peer);
  // Of a rank that is out of range, -1 is what was given.
  if (details.peer < 0 && code != errc::rank_out_of_range) return " from any rank";
  return " from rank " + std::to_string(details.peer);
}

bool is_mismatch(const boost::system::error_code& code) {
  return code == errc::size_mismatch || code == errc::element_type_mismatch || code == errc::object_type_mismatch ||
         code == errc::kind_mismatch || code == errc::message_too_large;
}

}  // namespace

std::string_view name(route which) noexcept {
  return route_names[static_cast<std::size_t>(which)];
}

std::optional<route> parse_route(std::string_view text) noexcept {
  for (std::size_t i = 0; i < route_names.size(); ++i)
    if (route_names[i] == text) return static_cast<route>(i);
  return std::nullopt;
}

std::string_view name(element_type type) noexcept {
  const auto index = static_cast<std::size_t>(type);
  return index < element_names.size() ? element_names[index] : "unknown elements";
}

std::string_view name(memory_kind kind) noexcept {
  const auto index = static_cast<std::size_t>(kind);
  return index < memory_names.size() ? memory_names[index] : "unknown";
}

std::string_view name(operation_kind kind) noexcept {
  return operation_names[static_cast<std::size_t>(kind)];
}
std::string_view name(phase at) noexcept {
  return phase_names[static_cast<std::size_t>(at)];
}

void detail::name_types(operation_details& details, std::string_view types) {
  std::string& text = details.reason;
  text.assign("this end has ").append(types).append(" (fingerprint ").append(in_hexadecimal(details.here.fingerprint));
  // A sender is not told the fingerprint of the receiver.
  if (details.there.fingerprint != 0)
    text.append("), the other types of fingerprint ").append(in_hexadecimal(details.there.fingerprint));
  else
    text.append("), the other does not");
  text.append("; ").append(same_types);
}

std::string describe(const boost::system::error_code& code, const operation_details& details) {
  std::string text(name(details.operation));
  const bool moves = details.operation == operation_kind::send || details.operation == operation_kind::receive;
  if (moves) {
    text += describe_peer(code, details);
    text += details.any_tag ? ", any tag" : ", tag " + std::to_string(details.tag);
    text += ", " + describe_shape(details.here);
  }
  if (details.operation == operation_kind::reserve && (details.peer >= 0 || code == errc::rank_out_of_range))
    text += " the pair with rank " + std::to_string(details.peer);
  text += ": " + code.message();
  if (is_mismatch(code) && details.reason.empty()) text += " (" + describe_difference(code, details) + ")";
  if (!details.reason.empty()) text += ": " + details.reason;
  if (moves) text.append(" [").append(name(details.phase)).append("]");
  return text;
}

}  // namespace weft
