// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weft::detail {

enum class address_family : std::uint8_t {
  unix_socket,  ///< an abstract one: it vanishes with its last process, however that ends
  tcp,
};

/// Where a process listens: "unix:NAME", or "HOST:PORT", "tcp:HOST:PORT" and "[IPV6]:PORT".
struct address {
  address_family family = address_family::unix_socket;
  std::string host;  ///< of tcp; an IPv6 address stands here without its brackets
  std::uint16_t port = 0;
  std::string name;  ///< of a Unix socket

  [[nodiscard]] static address of_unix(std::string name);
  [[nodiscard]] static address of_tcp(std::string host, std::uint16_t port);
  /// Throws `weft::error` with `errc::address_unusable` that says what is wrong with `text`.
  [[nodiscard]] static address parse(std::string_view text);

  /// As `parse` takes it.
  [[nodiscard]] std::string text() const;
  /// Whether it can be reached from this host only, judged without asking a name server.
  [[nodiscard]] bool is_loopback() const;

  friend bool operator==(const address&, const address&) = default;
};

}  // namespace weft::detail
