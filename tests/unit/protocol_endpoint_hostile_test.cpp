// SPDX-License-Identifier: Apache-2.0
// A peer that breaks the protocol is told apart from one that is late, and harms no operation of others.
#include "endpoint_harness.hpp"

#include <limits>

using namespace weft::testing;
namespace protocol = weft::protocol;

namespace {

constexpr protocol::announce honest{.send = 1,
                                    .group = 0,
                                    .tag = 1,
                                    .bytes = 4,
                                    .fingerprint = 0,
                                    .head = 0,
                                    .kind = weft::payload_kind::buffer,
                                    .element = weft::element_type::bytes,
                                    .memory = weft::memory_kind::host,
                                    .route = route::host,
                                    .has_payload = 0,
                                    .wants_verdict = 0,
                                    .is_ready = 1,
                                    .reserved = 0};

template <class Change>
protocol::announce changed(Change change) {
  protocol::announce body = honest;
  change(body);
  return body;
}

template <class Body>
packet packet_of(const Body& body, std::size_t content = 0) {
  const auto bytes = std::as_bytes(std::span(&body, 1));
  return {Body::type, {bytes.begin(), bytes.end()}, payload(content)};
}

protocol::refused refusal_of(protocol::operation_id send, std::uint32_t code) {
  protocol::refused body{};
  body.send = send;
  body.code = code;
  return body;
}

constexpr protocol::operation_id later_generation(protocol::operation_id id) {
  return id + (std::uint64_t{1} << 32);
}

}  // namespace

TEST_CASE("announcements with values that do not exist are violations") {
  simulated_group group(2);
  CHECK(group[1].deliver(0, packet_of(honest)));
  const std::array bad{
      changed([](auto& body) { body.kind = static_cast<weft::payload_kind>(2); }),
      changed([](auto& body) { body.element = static_cast<weft::element_type>(15); }),
      changed([](auto& body) { body.memory = static_cast<weft::memory_kind>(3); }),
      changed([](auto& body) { body.route = route::automatic; }),
      changed([](auto& body) { body.route = static_cast<weft::route>(5); }),
      changed([](auto& body) { body.has_payload = 2; }),
      changed([](auto& body) { body.wants_verdict = 2; }),
      changed([](auto& body) { body.is_ready = 2; }),
      changed([](auto& body) { body.has_payload = 1; }),  // a route that carries no payload in its announcement
  };
  for (const auto& body : bad) CHECK_FALSE(group[1].deliver(0, packet_of(body, 4)));
  CHECK(group[1].endpoint().unmatched_messages() == 1);
}

TEST_CASE("payload above the credit is a violation, however large it claims to be") {
  simulated_group group(2);
  const auto inlined = [](std::uint64_t bytes) {
    return packet_of(changed([bytes](auto& body) {
                       body.route = route::inlined;
                       body.has_payload = 1;
                       body.bytes = bytes;
                     }),
                     4);
  };
  CHECK_FALSE(group[1].deliver(0, inlined(65)));
  CHECK(group[1].deliver(0, inlined(60)));
  CHECK_FALSE(group[1].deliver(0, inlined(5)));
  CHECK_FALSE(group[1].deliver(0, inlined(std::numeric_limits<std::uint64_t>::max())));
  CHECK(group[1].deliver(0, inlined(4)));
  CHECK(group[1].endpoint().unmatched_messages() == 2);
}

TEST_CASE("credit beyond what was used is a violation") {
  simulated_group group(2);
  (void)group[0].send(to(1, 1), payload(10));
  CHECK_FALSE(group[0].deliver(1, packet_of(protocol::credit{11})));
  CHECK_FALSE(group[0].deliver(1, packet_of(protocol::credit{std::numeric_limits<std::uint64_t>::max()})));
  CHECK(group[0].deliver(1, packet_of(protocol::credit{10})));
  CHECK_FALSE(group[0].deliver(1, packet_of(protocol::credit{1})));
}

TEST_CASE("a clear for a send that is carried otherwise, or carried already, is a violation") {
  simulated_group group(2);
  const auto clear = [](const operation_result& send) { return packet_of(protocol::clear{send.id, 1}); };
  CHECK_FALSE(group[0].deliver(1, clear(group[0].send(to(1, 1).via(route::device), payload(4)))));
  CHECK_FALSE(group[0].deliver(1, clear(group[0].send(to(1, 1).via(route::pair), payload(4)))));
  CHECK_FALSE(group[0].deliver(1, clear(group[0].send(to(1, 1).until(weft::matched), payload(4)))));
  const auto& streamed = group[0].send(to(1, 1).via(route::host), payload(4));
  CHECK(group[0].deliver(1, clear(streamed)));
  CHECK_FALSE(group[0].deliver(1, clear(streamed)));
  CHECK(group[0].streams.size() == 1);
}

TEST_CASE("an acceptance of a message whose bytes were asked for is a violation") {
  simulated_group group(2);
  const auto& streamed = group[0].send(to(1, 1).via(route::host), payload(4));
  CHECK(group[0].deliver(1, packet_of(protocol::clear{streamed.id, 1})));
  CHECK_FALSE(group[0].deliver(1, packet_of(protocol::accepted{streamed.id})));
  CHECK(group[0].running() == 1);
}

TEST_CASE("a refusal with a code or a shape that is not of the protocol is a violation") {
  simulated_group group(2);
  const auto& sent = group[0].send(to(1, 1).via(route::host), payload(4));
  for (const errc foreign : {errc{}, errc::cancelled, errc::peer_lost, errc::closed, errc::malformed_message})
    CHECK_FALSE(group[0].deliver(1, packet_of(refusal_of(sent.id, static_cast<std::uint32_t>(foreign)))));
  CHECK_FALSE(group[0].deliver(1, packet_of(refusal_of(sent.id, 0xffffffffU))));
  auto bad_shape = refusal_of(sent.id, static_cast<std::uint32_t>(errc::size_mismatch));
  bad_shape.wanted_element = static_cast<weft::element_type>(200);
  CHECK_FALSE(group[0].deliver(1, packet_of(bad_shape)));
  bad_shape.wanted_element = {};
  bad_shape.sent_kind = static_cast<weft::payload_kind>(9);
  CHECK_FALSE(group[0].deliver(1, packet_of(bad_shape)));
  CHECK_FALSE(sent.ended);
  CHECK(group[0].late.empty());
}

TEST_CASE("a refusal of a send that is being carried out is a violation") {
  simulated_group group(2);
  const auto& sent = group[0].send(to(1, 1).via(route::host), payload(4));
  CHECK(group[0].deliver(1, packet_of(protocol::clear{sent.id, 1})));
  CHECK_FALSE(group[0].deliver(1, packet_of(refusal_of(sent.id, static_cast<std::uint32_t>(errc::size_mismatch)))));
  CHECK_FALSE(sent.ended);
}

TEST_CASE("a refusal of a transfer that has begun does not end it while the device uses its memory") {
  simulated_group group(2);
  const auto& sent = group[0].send(to(1, 1).via(route::device), payload(4));
  (void)group[1].receive(from(0, 1), 4);
  group.deliver(0, 1);
  group.sequence(1);
  group.launch();
  (void)group[0].deliver(1, packet_of(refusal_of(sent.id, static_cast<std::uint32_t>(errc::size_mismatch))));
  CHECK_FALSE(sent.ended);
  group.settle();
  CHECK(sent.succeeded());
}

TEST_CASE("an answer to a withdrawal that nobody asked for is a violation") {
  simulated_group group(2);
  const auto& sent = group[0].send(to(1, 1).via(route::host), payload(4));
  CHECK_FALSE(group[0].deliver(1, packet_of(protocol::withdrawn{sent.id})));
  CHECK_FALSE(sent.ended);
}

TEST_CASE("names of earlier operations are ignored, and so are those of other peers' operations") {
  simulated_group group(3);
  const auto& sent = group[0].send(to(1, 1).via(route::host).until(weft::matched), payload(4));
  const auto& receive = group[0].receive(from(1, 1), 4);
  for (const auto id : {later_generation(sent.id), receive.id, protocol::operation_id{0}, ~protocol::operation_id{0}}) {
    CHECK(group[0].deliver(1, packet_of(protocol::clear{id, 1})));
    CHECK(group[0].deliver(1, packet_of(protocol::accepted{id})));
    CHECK(group[0].deliver(1, packet_of(protocol::withdrawn{id})));
    CHECK(group[0].deliver(1, packet_of(protocol::withdraw{id})));
  }
  CHECK(group[0].deliver(2, packet_of(protocol::clear{sent.id, 1})));
  CHECK(group[0].deliver(2, packet_of(protocol::withdraw{sent.id})));
  CHECK_FALSE(sent.ended);
  CHECK_FALSE(receive.ended);
  CHECK(group[0].streams.empty());
}

TEST_CASE("a slot that is used again has another name") {
  simulated_group group(2);
  const auto& first = group[0].send(to(1, 1), payload(4));
  REQUIRE(first.succeeded());
  const auto& second = group[0].send(to(1, 1).until(weft::matched), payload(4));
  CHECK(protocol::endpoint::slot_of(first.id) == protocol::endpoint::slot_of(second.id));
  CHECK(first.id != second.id);
  CHECK(group[0].deliver(1, packet_of(protocol::accepted{first.id})));
  CHECK_FALSE(second.ended);
}

TEST_CASE("data for anything but a receive of this peer that expects it is a violation, zero bytes included") {
  simulated_group group(3);
  (void)group[0].send(to(1, 1).via(route::host), payload(4));
  const auto& expecting = group[1].receive(from(0, 1), 4);
  const auto& unmatched = group[1].receive(from(0, 2), 4);
  const auto& sent = group[1].send(to(0, 3).via(route::host), payload(4));
  (void)group[0].send(to(1, 4).via(route::device), payload(4));
  const auto& over_device = group[1].receive(from(0, 4), 4);
  for (int i = 0; i < 2; ++i) group.deliver(0, 1);
  const auto data = [](protocol::operation_id id, std::size_t bytes) {
    return packet_of(protocol::data{id, bytes}, bytes);
  };
  CHECK_FALSE(group[1].deliver(0, data(expecting.id, 5)));
  for (const std::size_t bytes : {0U, 1U}) {
    CHECK_FALSE(group[1].deliver(2, data(expecting.id, bytes)));
    CHECK_FALSE(group[1].deliver(0, data(later_generation(expecting.id), bytes)));
    CHECK_FALSE(group[1].deliver(0, data(unmatched.id, bytes)));
    CHECK_FALSE(group[1].deliver(0, data(sent.id, bytes)));
    CHECK_FALSE(group[1].deliver(0, data(over_device.id, bytes)));
    CHECK_FALSE(group[1].deliver(0, data(~protocol::operation_id{0}, bytes)));
  }
  CHECK(group[1].running() == 4);
  CHECK(group[1].deliver(0, data(expecting.id, 4)));
  CHECK(expecting.succeeded());
  CHECK_FALSE(group[1].deliver(0, data(expecting.id, 0)));
}
