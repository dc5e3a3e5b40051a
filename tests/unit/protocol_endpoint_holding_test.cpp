// SPDX-License-Identifier: Apache-2.0
// Messages about which a user decides, and messages that come in two parts.
#include "endpoint_harness.hpp"

namespace protocol = weft::protocol;
using namespace weft::testing;
using weft::payload_shape;

namespace {

constexpr std::array all_routes{route::host, route::device, route::pair};

payload_shape objects_with_head(std::uint64_t head) {
  payload_shape shape = of_objects(7);
  shape.head = head;
  return shape;
}
const payload_shape wanted = of_objects(7);

/// Rank 0 sends one in two parts, and rank 1 has its head.
struct half_received {
  explicit half_received(route via = route::host, std::size_t head = 4, std::string_view text = "headand the body")
      : group(2), received(&group[1].receive(from(0, 1), 0, wanted)) {
    group.leave_decisions();
    sent = &group[0].send(to(1, 1).via(via), bytes_of(text), objects_with_head(head));
    group.settle();
  }

  simulated_group group;
  operation_result* received;
  operation_result* sent = nullptr;
};

}  // namespace

TEST_CASE("a message in two parts shows its head, and then arrives whole, by every route") {
  for (const route via : all_routes) {
    for (const std::size_t head :
         {std::size_t{4}, eager_limit + 1}) {  // the longer one does not fit into the announcement
      CAPTURE(weft::name(via));
      CAPTURE(head);
      half_received now(via, head, "a head that may be long, and a body");
      REQUIRE(now.received->held);
      CHECK(now.received->content == bytes_of(std::string_view("a head that may be long, and a body").substr(0, head)));
      CHECK(now.received->details.here.bytes == 35);
      CHECK_FALSE(now.sent->ended);
      CHECK(now.group[1].resume(now.received->id, wanted));
      now.group.settle();
      CHECK(now.received->content == bytes_of("a head that may be long, and a body"));
      CHECK(now.received->succeeded());
      CHECK(now.sent->succeeded());
      CHECK(now.group[0].endpoint().in_flight() == 0);
      CHECK(now.group[1].endpoint().in_flight() == 0);
    }
  }
}

TEST_CASE("a message in two parts may go to oneself") {
  simulated_group group(2);
  const auto& received = group[0].receive(from(0, 1), 0, wanted);
  const auto& sent = group[0].send(to(0, 1).via(route::host), bytes_of("headand the body"), objects_with_head(4));
  group.settle();
  CHECK(received.content == bytes_of("headand the body"));
  CHECK(sent.succeeded());
}

TEST_CASE("a message whose head was refused fails at both ends with the reason, and its body is never sent") {
  for (const route via : all_routes) {
    half_received now(via);
    CHECK(now.group[1].refuse(now.received->id, "not today"));
    now.group.settle();
    CHECK(now.received->failed_as(errc::refused));
    CHECK(now.sent->failed_as(errc::refused));
    CHECK(now.sent->details.reason == "not today");
    CHECK(now.group[0].streams.empty());
    CHECK(now.group[1].reports.empty());
  }
}

TEST_CASE("a refusal that overtakes the news that the head was sent waits for it") {
  simulated_group group(2);
  group.leave_decisions();
  const auto& received = group[1].receive(from(0, 1), 0, wanted);
  const auto& sent = group[0].send(to(1, 1).via(route::host), payload(30), objects_with_head(20));
  group.deliver(0, 1);
  group.deliver(1, 0);
  group[0].streams.front().end = 0;  // the link has let the bytes go, and has not said so yet
  const auto id = received.id;
  CHECK(group[0].deliver(1, {protocol::message_type::refused,
                             [&] {
                               const protocol::refused body{.send = sent.id,
                                                            .tag = 1,
                                                            .code = static_cast<std::uint32_t>(errc::refused),
                                                            .sent_kind = {},
                                                            .sent_element = {},
                                                            .wanted_kind = {},
                                                            .wanted_element = {},
                                                            .sent_bytes = 0,
                                                            .wanted_bytes = 0};
                               const auto bytes = std::as_bytes(std::span(&body, 1));
                               return payload(bytes.begin(), bytes.end());
                             }(),
                             bytes_of("no")}));
  CHECK_FALSE(sent.ended);
  group[0].event([&](auto& endpoint, auto& actions) { endpoint.on_stream_sent(sent.id, actions); });
  CHECK(sent.failed_as(errc::refused));
  CHECK_FALSE(group[1].at(id).ended);
}

TEST_CASE("a message that is discarded counts as sent, and its body stays where it is") {
  for (const route via : all_routes) {
    half_received now(via);
    CHECK(now.group[1].discard(now.received->id));
    now.group.settle();
    CHECK(now.received->succeeded());
    CHECK(now.sent->succeeded());
    CHECK(now.received->content == bytes_of("head"));
  }
}

TEST_CASE("a receive that leaves with the head of a message ends, and so does its send") {
  for (const route via : all_routes) {
    half_received now(via);
    now.group[1].cancel(*now.received);
    now.group.settle();
    CHECK(now.received->failed_as(errc::cancelled));
    CHECK(now.sent->succeeded());
  }
}

TEST_CASE("a sender that leaves after its head was taken is too late") {
  for (const route via : all_routes) {
    half_received now(via);
    now.group[0].cancel(*now.sent);
    now.group.settle();
    CHECK_FALSE(now.sent->ended);
    CHECK(now.group[1].resume(now.received->id, wanted));
    now.group.settle();
    CHECK(now.sent->succeeded());
    CHECK(now.received->content == bytes_of("headand the body"));
  }
}

TEST_CASE("a message that is examined is shown whole in shape, and waits") {
  simulated_group group(2);
  group.leave_decisions();
  const auto& examined = group[1].examine(from(any_source, any_tag));
  const auto& sent = group[0].send(to(1, 9).via(route::host), payload(40), of_elements(weft::element_type::f32));
  group.settle();
  REQUIRE(examined.held);
  CHECK(examined.details.peer == 0);
  CHECK(examined.details.tag == 9);
  CHECK(examined.details.here.bytes == 40);
  CHECK(examined.details.here.element == weft::element_type::f32);
  CHECK_FALSE(sent.ended);

  SUBCASE("until it is received") {
    CHECK(group[1].resume(examined.id, {.bytes = 40, .element = weft::element_type::f32}));
    group.settle();
    CHECK(examined.succeeded());
    CHECK(sent.succeeded());
  }
  SUBCASE("until it is received with another shape, which fails both ends") {
    CHECK(group[1].resume(examined.id, {.bytes = 39, .element = weft::element_type::f32}));
    group.settle();
    CHECK(examined.failed_as(errc::size_mismatch));
    CHECK(sent.failed_as(errc::size_mismatch));
  }
  SUBCASE("until it is refused") {
    CHECK(group[1].refuse(examined.id, "too much"));
    group.settle();
    CHECK(sent.failed_as(errc::refused));
    CHECK(sent.details.reason == "too much");
  }
  SUBCASE("until its sender takes it back") {
    group[0].cancel(sent);
    group.settle();
    CHECK(sent.failed_as(errc::cancelled));
    CHECK(examined.failed_as(errc::withdrawn));
    CHECK_FALSE(group[1].resume(examined.id, {}));
  }
  SUBCASE("until its sender is lost") {
    group.lose(0);
    CHECK(examined.failed_as(errc::peer_lost));
    CHECK_FALSE(group[1].discard(examined.id));
  }
  SUBCASE("until its receiver gives it to the next receive") {
    const auto& next = group[1].receive(from(0, 9), 40, of_elements(weft::element_type::f32));
    group[1].cancel(examined);
    group.settle();
    CHECK(examined.failed_as(errc::cancelled));
    CHECK(next.succeeded());
    CHECK(sent.succeeded());
  }
}

TEST_CASE("an inline message that is examined can still be received when its sender is gone") {
  simulated_group group(2);
  group.leave_decisions();
  const auto& examined = group[1].examine(from(0, any_tag));
  (void)group[0].send(to(1, 1), bytes_of("small"));
  group.settle();
  group.lose(0);
  REQUIRE_FALSE(examined.ended);
  CHECK(group[1].resume(examined.id, {.bytes = 5}));
  CHECK(examined.content == bytes_of("small"));
}

TEST_CASE("a refused inline message is reported to its sender, whose send was over") {
  simulated_group group(2);
  group.leave_decisions();
  const auto& examined = group[1].examine(from(0, any_tag));
  (void)group[0].send(to(1, 3), bytes_of("small"));
  group.settle();
  CHECK(group[1].refuse(examined.id, "why not"));
  group.settle();
  REQUIRE(group[0].late.size() == 1);
  CHECK(group[0].late.front().code == errc::refused);
  CHECK(group[0].late.front().details.tag == 3);
  CHECK(group[0].late.front().details.reason == "why not");
  CHECK(group[1].kept_payloads() == 0);
}

TEST_CASE("a close ends what is held, and what would have been") {
  half_received held;
  held.group[1].close();
  CHECK(held.received->failed_as(errc::closed));

  simulated_group group(2);
  const auto& received = group[1].receive(from(0, 1), 0, wanted);
  (void)group[0].send(to(1, 1).via(route::host), payload(30), objects_with_head(20));
  group.deliver(0, 1);
  group[1].close();
  CHECK_FALSE(received.ended);
  group.settle();
  CHECK(received.failed_as(errc::closed));
}
