// SPDX-License-Identifier: Apache-2.0
#include "link/address.hpp"

#include <weft/engine/error.hpp>

#include <doctest/doctest.h>

#include <string>

using weft::detail::address;
using weft::detail::address_family;

namespace {

std::string refusal(const std::string& text) {
  try {
    (void)address::parse(text);
  } catch (const weft::error& problem) {
    CHECK(problem.code() == weft::errc::address_unusable);
    CHECK(std::string(problem.what()).find("\"" + text + "\"") != std::string::npos);
    return problem.what();
  }
  return {};
}

}  // namespace

TEST_CASE("an address of each kind is parsed and written back") {
  const address host = address::parse("node7:29500");
  CHECK(host.family == address_family::tcp);
  CHECK(host.host == "node7");
  CHECK(host.port == 29500);
  CHECK(host.text() == "node7:29500");

  CHECK(address::parse("tcp:10.0.0.1:0") == address::of_tcp("10.0.0.1", 0));
  const address v6 = address::parse("[fe80::1]:80");
  CHECK(v6.host == "fe80::1");
  CHECK(v6.text() == "[fe80::1]:80");

  const address local = address::parse("unix:a:b/c");
  CHECK(local.family == address_family::unix_socket);
  CHECK(local.name == "a:b/c");
  CHECK(local.text() == "unix:a:b/c");
}

TEST_CASE("every text that is parsed and written is parsed to the same address") {
  for (const char* text : {"h:1", "[::1]:65535", "unix:x", "tcp:localhost:12"}) {
    const address parsed = address::parse(text);
    CHECK(address::parse(parsed.text()) == parsed);
  }
}

TEST_CASE("a text that is no address is refused with the reason") {
  CHECK(refusal("").find("empty") != std::string::npos);
  CHECK(refusal("host").find("port is missing") != std::string::npos);
  CHECK(refusal("[::1]").find("port is missing") != std::string::npos);
  CHECK(refusal(":80").find("host is missing") != std::string::npos);
  CHECK(refusal("host:").find("65535") != std::string::npos);
  CHECK(refusal("host:65536").find("65535") != std::string::npos);
  CHECK(refusal("host:-1").find("65535") != std::string::npos);
  CHECK(refusal("host:80x").find("80x") != std::string::npos);
  CHECK(refusal("::1:80").find("brackets") != std::string::npos);
  CHECK(refusal("[::1:80").find("not closed") != std::string::npos);
  CHECK(refusal("[host]:80").find("not an IPv6 address") != std::string::npos);
  CHECK(refusal("ho st:80").find("blank") != std::string::npos);
  CHECK(refusal("unix:").find("empty") != std::string::npos);
  CHECK(refusal("unix:" + std::string(108, 'n')).find("107") != std::string::npos);
  CHECK(address::parse("unix:" + std::string(107, 'n')).name.size() == 107);
  CHECK(refusal(std::string(254, 'h') + ":1").find("too long") != std::string::npos);
}

TEST_CASE("an address is on this host only if it says so itself") {
  for (const char* text : {"localhost:1", "127.0.0.1:1", "127.8.9.10:1", "[::1]:1", "unix:x"})
    CHECK(address::parse(text).is_loopback());
  for (const char* text : {"10.0.0.1:1", "node7:1", "0.0.0.0:1", "[::]:1", "127.0.0.1.example.org:1"})
    CHECK_FALSE(address::parse(text).is_loopback());
}
