// SPDX-License-Identifier: Apache-2.0
#include <weft/engine/buffer.hpp>
#include <weft/engine/error.hpp>
#include <weft/engine/operation_details.hpp>
#include <weft/engine/route.hpp>

#include <array>

namespace weft {
namespace {

constexpr std::array<std::string_view, route_count> route_names{"automatic", "inline", "host", "device", "pair"};
constexpr std::array<std::string_view, 15> element_names{"bytes", "bool", "i8",   "i16", "i32", "i64", "u16", "u32",
                                                         "u64",   "f16",  "bf16", "f32", "f64", "c64", "c128"};
constexpr std::array<std::string_view, 3> memory_names{"host", "pinned", "device"};
constexpr std::array<std::string_view, 4> operation_names{"operation", "send", "receive", "split"};
constexpr std::array<std::string_view, 5> phase_names{"starting", "unmatched", "matched", "transferring", "done"};

std::string describe_shape(const payload_shape& shape) {
  std::string text = std::to_string(shape.bytes) + " bytes of ";
  if (shape.kind == payload_kind::objects) return text + "objects";
  return text.append(name(shape.element));
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

std::string describe(const boost::system::error_code& code, const operation_details& details) {
  std::string text(name(details.operation));
  const bool moves = details.operation == operation_kind::send || details.operation == operation_kind::receive;
  if (moves) {
    const bool sending = details.operation == operation_kind::send;
    text += details.peer < 0 && !sending ? " from any rank" : (sending ? " to rank " : " from rank ");
    if (details.peer >= 0 || sending) text += std::to_string(details.peer);
    text += details.any_tag ? ", any tag" : ", tag " + std::to_string(details.tag);
    text += ", " + describe_shape(details.here);
  }
  text += ": " + code.message();
  if (is_mismatch(code) && details.reason.empty()) {
    text += " (this end has " + describe_shape(details.here) + ", the other " + describe_shape(details.there);
    if (code == errc::object_type_mismatch)
      text += "; send and receive the same types, or give renamed types one weft_type_name";
    text += ")";
  }
  if (!details.reason.empty()) text += ": " + details.reason;
  if (moves) text.append(" [").append(name(details.phase)).append("]");
  return text;
}

}  // namespace weft
