// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace weft {

/// What carries a message. The sender chooses; the receiver follows what was announced, so the two cannot disagree.
enum class route : std::uint8_t {
  automatic,  ///< `inlined` for host memory up to `eager_limit`, `host` above it, `device` for device memory
  inlined,    ///< the bytes ride in the announcement, on the link between the two ranks ("inline" in text)
  host,       ///< the bytes follow on the link once the receive is matched
  device,     ///< the group's own communicator; agreed operations are batched
  pair,       ///< a communicator of the two ranks alone, created on first use
};

/// For arrays with an element for each route.
inline constexpr std::size_t route_count = 5;

/// "automatic", "inline", "host", "device" or "pair".
[[nodiscard]] std::string_view name(route which) noexcept;

/// The inverse of `name`; nothing for any other text.
[[nodiscard]] std::optional<route> parse_route(std::string_view text) noexcept;

}  // namespace weft
