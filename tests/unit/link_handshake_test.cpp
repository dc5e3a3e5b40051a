// SPDX-License-Identifier: Apache-2.0
#include "link/handshake.hpp"

#include <weft/engine/error.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <vector>

using namespace weft::detail;
using bytes = std::vector<std::byte>;

namespace {

const hello example{.purpose = purpose::device,
                    .from = 3,
                    .to = 1,
                    .world_size = 8,
                    .incarnation = 0x1122334455667788,
                    .argument = 0x99aabbccddeeff00};
constexpr std::uint64_t server_incarnation = 0xfeedfacecafe;

handshake_nonce nonce_of(int seed) {
  handshake_nonce nonce;
  nonce.fill(static_cast<std::byte>(seed));
  return nonce;
}

/// Joins both sides, with all that passes between them in the hands of the test.
struct wire {
  client_handshake client;
  server_handshake server;
  std::function<void(bytes&)> to_server = [](bytes&) {};
  std::function<void(bytes&)> to_client = [](bytes&) {};
  verdict decision = verdict::accepted;
  bytes sent_by_client;
  bytes sent_by_server;

  handshake_status client_status = handshake_status::receiving;
  handshake_status server_status = handshake_status::receiving;

  wire(std::string_view client_key, std::string_view server_key,
       std::uint16_t client_version = weft::wire_protocol_version,
       std::uint16_t server_version = weft::wire_protocol_version, int client_nonce = 1, int server_nonce = 2)
      : client(client_key, example, nonce_of(client_nonce), client_version),
        server(server_key, server_incarnation, nonce_of(server_nonce), server_version) {}

  void run() {
    bytes for_server;
    bytes for_client;
    handshake_step client_step = client.start();
    handshake_step server_step = server.start();
    take(client_step, for_server, sent_by_client, to_server);
    take(server_step, for_client, sent_by_server, to_client);
    for (bool moved = true; moved;) {
      moved = false;
      if (give(server_step, for_server, server)) {
        moved = true;
        if (server_step.status == handshake_status::authenticated) server_step = server.decide(decision);
        take(server_step, for_client, sent_by_server, to_client);
      }
      if (give(client_step, for_client, client)) {
        moved = true;
        take(client_step, for_server, sent_by_client, to_server);
      }
    }
    client_status = client_step.status;
    server_status = server_step.status;
  }

 private:
  static void take(const handshake_step& step, bytes& queue, bytes& all, const std::function<void(bytes&)>& change) {
    bytes message(step.output.begin(), step.output.end());
    all.insert(all.end(), message.begin(), message.end());
    change(message);
    queue.insert(queue.end(), message.begin(), message.end());
  }

  template <class Side>
  static bool give(handshake_step& step, bytes& queue, Side& side) {
    if (step.status != handshake_status::receiving || queue.size() < step.bytes_wanted) return false;
    const bytes input(queue.begin(), queue.begin() + static_cast<std::ptrdiff_t>(step.bytes_wanted));
    queue.erase(queue.begin(), queue.begin() + static_cast<std::ptrdiff_t>(step.bytes_wanted));
    step = side.received(input);
    return true;
  }
};

/// Flips one bit of the byte at `position` of all that passes.
std::function<void(bytes&)> corrupt(std::size_t position) {
  return [position, passed = std::size_t{0}](bytes& message) mutable {
    if (position >= passed && position < passed + message.size()) message[position - passed] ^= std::byte{1};
    passed += message.size();
  };
}

/// Gives a side what was recorded of another conversation, as long as it wants more.
template <class Side>
handshake_status replay(std::span<const std::byte> recorded, Side& side) {
  handshake_step step = side.start();
  while (step.status == handshake_status::receiving && recorded.size() >= step.bytes_wanted) {
    const auto input = recorded.first(step.bytes_wanted);
    recorded = recorded.subspan(step.bytes_wanted);
    step = side.received(input);
  }
  return step.status;
}

}  // namespace

TEST_CASE("two ends with one key learn who they are") {
  for (const char* key :
       {"", "secret", "a key that is much longer than a block of the hash function, which is 64 bytes"}) {
    wire line(key, key);
    line.run();
    CHECK(line.client_status == handshake_status::done);
    CHECK(line.server_status == handshake_status::done);
    CHECK(line.server.client() == example);
    CHECK(line.client.server_incarnation() == server_incarnation);
    CHECK(line.client.answer() == verdict::accepted);
  }
}

TEST_CASE("the client learns the server's verdict") {
  for (const verdict what : {verdict::accepted, verdict::busy, verdict::wrong_rank, verdict::unknown_incarnation,
                             verdict::wrong_purpose, verdict::closing}) {
    wire line("k", "k");
    line.decision = what;
    line.run();
    CHECK(line.client_status == handshake_status::done);
    CHECK(line.client.answer() == what);
  }
}

TEST_CASE("with different keys both ends fail to authenticate") {
  for (const auto& [one, other] : {std::pair{"one", "two"}, {"", "two"}, {"one", ""}}) {
    wire line(one, other);
    line.run();
    CHECK(line.client_status == handshake_status::failed);
    CHECK(line.server_status == handshake_status::failed);
    CHECK(line.client.code() == weft::errc::authentication_failed);
    CHECK(line.server.code() == weft::errc::authentication_failed);
  }
}

TEST_CASE("a client that the server did not convince gives away nothing made with its key") {
  wire one("one", "x");
  wire other("other", "x");
  one.run();
  other.run();
  CHECK(one.sent_by_client == other.sent_by_client);
}

TEST_CASE("with different versions both ends name both versions") {
  for (const auto& [one, other] : {std::pair<std::uint16_t, std::uint16_t>{1, 2}, {7, 1}}) {
    wire line("k", "k", one, other);
    line.run();
    CHECK(line.client_status == handshake_status::failed);
    CHECK(line.server_status == handshake_status::failed);
    CHECK(line.client.code() == weft::errc::protocol_mismatch);
    CHECK(line.server.code() == weft::errc::protocol_mismatch);
    for (const std::string& reason : {line.client.reason(), line.server.reason()}) {
      CHECK(reason.find("version " + std::to_string(one)) != std::string::npos);
      CHECK(reason.find("version " + std::to_string(other)) != std::string::npos);
    }
    CHECK(line.sent_by_server.size() == 8);
  }
}

TEST_CASE("a server answers nothing to what is not weft") {
  server_handshake server("k", 0, nonce_of(1));
  (void)server.start();
  const std::string_view http = "GET / HT";
  const handshake_step step = server.received(std::as_bytes(std::span(http)));
  CHECK(step.status == handshake_status::failed);
  CHECK(step.output.empty());
  CHECK(server.code() == weft::errc::protocol_mismatch);
}

TEST_CASE("one changed bit anywhere keeps the client or the server from being done") {
  wire good("k", "k");
  good.run();
  // What the server says last, its verdict, only the client can refuse; all else the server sees too.
  const std::size_t before_verdict = good.sent_by_server.size() - 33;
  for (std::size_t i = 0; i < good.sent_by_client.size(); ++i) {
    wire line("k", "k");
    line.to_server = corrupt(i);
    line.run();
    CHECK_MESSAGE(line.server_status != handshake_status::done, "byte " << i);
    CHECK_MESSAGE(line.client_status != handshake_status::done, "byte " << i);
  }
  for (std::size_t i = 0; i < good.sent_by_server.size(); ++i) {
    wire line("k", "k");
    line.to_client = corrupt(i);
    line.run();
    CHECK_MESSAGE(line.client_status == handshake_status::failed, "byte " << i);
    if (i < before_verdict) CHECK_MESSAGE(line.server_status != handshake_status::done, "byte " << i);
  }
}

TEST_CASE("a message of another size than asked for is refused") {
  const bytes message(64);
  for (std::size_t size = 0; size < message.size(); ++size) {
    if (size == 8) continue;
    client_handshake client("k", example, nonce_of(1));
    (void)client.start();
    CHECK(client.received(std::span(message).first(size)).status == handshake_status::failed);
    CHECK(client.code() == weft::errc::malformed_message);
    server_handshake server("k", 0, nonce_of(1));
    (void)server.start();
    CHECK(server.received(std::span(message).first(size)).status == handshake_status::failed);
    CHECK(server.code() == weft::errc::malformed_message);
  }
}

TEST_CASE("what a client sent once convinces no server that chose another nonce") {
  wire recorded("k", "k");
  recorded.run();
  server_handshake server("k", server_incarnation, nonce_of(3));
  CHECK(replay(recorded.sent_by_client, server) == handshake_status::failed);
  CHECK(server.code() == weft::errc::authentication_failed);
}

TEST_CASE("what a server sent once convinces no client that chose another nonce") {
  wire recorded("k", "k");
  recorded.run();
  client_handshake client("k", example, nonce_of(3));
  CHECK(replay(recorded.sent_by_server, client) == handshake_status::failed);
  CHECK(client.code() == weft::errc::authentication_failed);
}

TEST_CASE("a server's own proof does not pass as a client's") {
  server_handshake server("k", server_incarnation, nonce_of(2));
  client_handshake client("other", example, nonce_of(1));
  const handshake_step hello_step = client.start();
  (void)server.start();
  (void)server.received(hello_step.output.first(8));
  const handshake_step challenge = server.received(hello_step.output.subspan(8));
  const bytes reflected(challenge.output.end() - 32, challenge.output.end());
  CHECK(server.received(reflected).status == handshake_status::failed);
  CHECK(server.code() == weft::errc::authentication_failed);
}

TEST_CASE("an unknown purpose is refused even of a client that holds the key") {
  hello strange = example;
  strange.purpose = static_cast<purpose>(200);
  client_handshake client("k", strange, nonce_of(1));
  server_handshake server("k", 0, nonce_of(2));
  const handshake_step hello_step = client.start();
  (void)server.start();
  (void)server.received(hello_step.output.first(8));
  const handshake_step challenge = server.received(hello_step.output.subspan(8));
  (void)client.received(challenge.output.first(8));
  const handshake_step proof = client.received(challenge.output.subspan(8));
  CHECK(server.received(proof.output).status == handshake_status::failed);
  CHECK(server.code() == weft::errc::malformed_message);
}
