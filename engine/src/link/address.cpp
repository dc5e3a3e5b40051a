// SPDX-License-Identifier: Apache-2.0
#include "link/address.hpp"

#include <weft/engine/error.hpp>

#include <boost/asio/ip/address.hpp>

#include <algorithm>
#include <charconv>
#include <utility>

namespace weft::detail {
namespace {

constexpr std::string_view unix_prefix = "unix:";
constexpr std::string_view tcp_prefix = "tcp:";
// sun_path has 108 bytes, of which an abstract name loses one to its leading zero.
constexpr std::size_t longest_name = 107;
// The limit of the domain name system.
constexpr std::size_t longest_host = 253;
constexpr int largest_port = 65535;

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
  throw error(errc::address_unusable,
              "address \"" + std::string(text) + "\": " + why + "; expected host:port, [ipv6]:port or unix:name");
}

// Addresses are put into texts that blanks separate, so every character must be visible.
bool is_visible(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

std::uint16_t parse_port(std::string_view port, std::string_view whole) {
  int value = -1;
  const char* const end = port.data() + port.size();
  const auto [stop, problem] = std::from_chars(port.data(), end, value);
  if (problem != std::errc{} || stop != end || value < 0 || value > largest_port)
    refuse(whole, "the port \"" + std::string(port) + "\" is not a number from 0 to 65535");
  return static_cast<std::uint16_t>(value);
}

address parse_unix(std::string_view name, std::string_view whole) {
  if (name.empty()) refuse(whole, "the name is empty");
  if (name.size() > longest_name)
    refuse(whole,
           "the name has " + std::to_string(name.size()) + " characters, and may have " + std::to_string(longest_name));
  return address::of_unix(std::string(name));
}

bool is_ipv6(std::string_view host) {
  boost::system::error_code problem;
  (void)boost::asio::ip::make_address_v6(std::string(host), problem);
  return !problem;
}

address parse_bracketed(std::string_view text, std::string_view whole) {
  const std::size_t end = text.find(']');
  if (end == std::string_view::npos) refuse(whole, "the bracket is not closed");
  const std::string_view host = text.substr(1, end - 1);
  if (!is_ipv6(host)) refuse(whole, "\"" + std::string(host) + "\" is not an IPv6 address");
  const std::string_view rest = text.substr(end + 1);
  if (rest.empty() || rest.front() != ':') refuse(whole, "the port is missing");
  return address::of_tcp(std::string(host), parse_port(rest.substr(1), whole));
}

address parse_tcp(std::string_view text, std::string_view whole) {
  if (!text.empty() && text.front() == '[') return parse_bracketed(text, whole);
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) refuse(whole, "the port is missing");
  const std::string_view host = text.substr(0, colon);
  if (host.empty()) refuse(whole, "the host is missing");
  if (host.find(':') != std::string_view::npos) refuse(whole, "an IPv6 address needs brackets");
  if (host.size() > longest_host) refuse(whole, "the host name is too long");
  return address::of_tcp(std::string(host), parse_port(text.substr(colon + 1), whole));
}

}  // namespace

address address::of_unix(std::string name) {
  return {address_family::unix_socket, {}, 0, std::move(name)};
}

address address::of_tcp(std::string host, std::uint16_t port) {
  return {address_family::tcp, std::move(host), port, {}};
}

address address::parse(std::string_view text) {
  if (text.empty()) refuse(text, "it is empty");
  if (!is_visible(text)) refuse(text, "it has a blank, or a character that is not ASCII");
  if (text.starts_with(unix_prefix)) return parse_unix(text.substr(unix_prefix.size()), text);
  if (text.starts_with(tcp_prefix)) return parse_tcp(text.substr(tcp_prefix.size()), text);
  return parse_tcp(text, text);
}

std::string address::text() const {
  if (family == address_family::unix_socket) return std::string(unix_prefix) + name;
  const bool bracketed = host.find(':') != std::string::npos;
  return (bracketed ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

bool address::is_loopback() const {
  if (family == address_family::unix_socket || host == "localhost") return true;
  boost::system::error_code problem;
  const auto number = boost::asio::ip::make_address(host, problem);
  return !problem && number.is_loopback();
}

}  // namespace weft::detail
