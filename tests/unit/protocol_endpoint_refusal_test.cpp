// SPDX-License-Identifier: Apache-2.0
// Messages that cannot be received as they are, and bounds on what is unmatched.
#include "endpoint_harness.hpp"

using namespace weft::testing;

namespace {

struct disagreement {
  errc code;
  weft::payload_shape sent;
  std::size_t sent_bytes;
  weft::payload_shape wanted;
  std::size_t wanted_bytes;
};

const std::array disagreements{
    disagreement{errc::size_mismatch, {}, 8, {}, 4},
    disagreement{errc::size_mismatch, {}, 4, {}, 8},
    disagreement{errc::element_type_mismatch, of_elements(weft::element_type::f32), 8,
                 of_elements(weft::element_type::i32), 8},
    disagreement{errc::kind_mismatch, of_objects(1), 8, {}, 8},
    disagreement{errc::kind_mismatch, {}, 8, of_objects(1), 0},
    disagreement{errc::object_type_mismatch, of_objects(1), 8, of_objects(2), 0},
};

void check_shapes(const weft::operation_details& details, const disagreement& about, bool at_sender) {
  const auto& sent = at_sender ? details.here : details.there;
  const auto& wanted = at_sender ? details.there : details.here;
  CHECK(sent.bytes == about.sent_bytes);
  CHECK(sent.kind == about.sent.kind);
  CHECK(sent.element == about.sent.element);
  CHECK(wanted.bytes == about.wanted_bytes);
  CHECK(wanted.kind == about.wanted.kind);
  CHECK(wanted.element == about.wanted.element);
  CHECK(details.tag == 3);
  CHECK(details.phase == weft::phase::matched);
}

void check_nothing_left(simulated_group& group) {
  for (int rank = 0; rank < group.size(); ++rank) {
    CHECK(group[rank].running() == 0);
    CHECK(group[rank].kept_payloads() == 0);
    CHECK(group[rank].endpoint().in_flight() == 0);
    CHECK(group[rank].endpoint().unmatched_messages() == 0);
  }
}

}  // namespace

TEST_CASE("a mismatch fails both ends, each told both shapes, on every route that waits for its match") {
  for (const auto& about : disagreements) {
    for (const route via : {route::inlined, route::host, route::device, route::pair}) {
      for (const int source : {0, 1}) {  // 1: a message to oneself
        for (const bool send_first : {true, false}) {
          CAPTURE(weft::name(via));
          CAPTURE(source);
          CAPTURE(send_first);
          simulated_group group(2);
          const operation_result* sent = nullptr;
          const operation_result* received = nullptr;
          const auto send = [&] {
            sent = &group[source].send(to(1, 3).via(via).until(weft::matched), payload(about.sent_bytes), about.sent);
          };
          const auto receive = [&] { received = &group[1].receive(from(source, 3), about.wanted_bytes, about.wanted); };
          send_first ? send() : receive();
          group.settle();
          send_first ? receive() : send();
          group.settle();
          REQUIRE(sent->failed_as(about.code));
          REQUIRE(received->failed_as(about.code));
          check_shapes(sent->details, about, true);
          check_shapes(received->details, about, false);
          CHECK(group[source].late.empty());
          check_nothing_left(group);
        }
      }
    }
  }
}

TEST_CASE("a mismatch of an inline send that is over goes to the sender's late report") {
  for (const auto& about : disagreements) {
    for (const int source : {0, 1}) {
      simulated_group group(2);
      const auto& sent = group[source].send(to(1, 3), payload(about.sent_bytes), about.sent);
      CHECK(sent.succeeded());
      const auto& received = group[1].receive(from(source, 3), about.wanted_bytes, about.wanted);
      group.settle();
      CHECK(received.failed_as(about.code));
      check_shapes(received.details, about, false);
      REQUIRE(group[source].late.size() == 1);
      CHECK(group[source].late[0].code == about.code);
      CHECK(group[source].late[0].details.operation == weft::operation_kind::send);
      CHECK(group[source].late[0].details.peer == 1);
      check_shapes(group[source].late[0].details, about, true);
      check_nothing_left(group);
    }
  }
}

TEST_CASE("a mismatch touches no other operation") {
  simulated_group group(2);
  (void)group[0].send(to(1, 3), payload(2));
  const auto& next = group[0].send(to(1, 3).via(route::host), bytes_of("next"));
  CHECK_FALSE(group[1].receive(from(0, 3), 9).ended);
  group.settle();
  const auto& received = group[1].receive(from(0, 3), 4);
  group.settle();
  CHECK(next.succeeded());
  CHECK(received.content == bytes_of("next"));
}

TEST_CASE("objects above the receiver's limit are refused at both ends, which are told the limit") {
  simulated_group group(2);
  const auto& sent = group[0].send(to(1, 3).via(route::host), payload(65), of_objects(1));
  const auto& received = group[1].receive(from(0, 3), 0, of_objects(1));
  group.settle();
  CHECK(sent.failed_as(errc::message_too_large));
  CHECK(sent.details.there.bytes == small_limits.max_object_bytes);
  CHECK(received.failed_as(errc::message_too_large));
  CHECK(received.details.here.bytes == small_limits.max_object_bytes);
  CHECK(received.details.there.bytes == 65);
}

TEST_CASE("without credit an inline send waits for its match, and matches give credit back") {
  for (const int source : {0, 1}) {
    CAPTURE(source);
    simulated_group group(2);
    for (int i = 0; i < 4; ++i) CHECK(group[source].send(to(1, 1), payload(16, std::byte{1})).succeeded());
    const auto& beyond = group[source].send(to(1, 1), payload(16, std::byte{2}));
    const auto& empty = group[source].send(to(1, 1), {});
    group.settle();
    CHECK_FALSE(beyond.ended);
    CHECK(empty.succeeded());
    CHECK(group[1].kept_payloads() == 5);

    CHECK(group[1].receive(from(source, 1), 16).succeeded());
    group.settle();
    CHECK_FALSE(beyond.ended);
    CHECK(group[source].send(to(1, 1), payload(16)).succeeded());
    for (int i = 0; i < 3; ++i) CHECK(group[1].receive(from(source, 1), 16).succeeded());
    const auto& last = group[1].receive(from(source, 1), 16);
    group.settle();
    CHECK(beyond.succeeded());
    CHECK(last.content == payload(16, std::byte{2}));
  }
}

TEST_CASE("an inline send without credit fails at both ends when it does not fit its receive") {
  simulated_group group(2);
  for (int i = 0; i < 4; ++i) (void)group[0].send(to(1, 1), payload(16));
  const auto& beyond = group[0].send(to(1, 2), payload(16));
  group.settle();
  const auto& received = group[1].receive(from(0, 2), 3);
  group.settle();
  CHECK(beyond.failed_as(errc::size_mismatch));
  CHECK(received.failed_as(errc::size_mismatch));
  CHECK(group[0].late.empty());
}

TEST_CASE("credit comes back whatever becomes of the payload") {
  simulated_group group(2);
  for (int round = 0; round < 20; ++round) {
    CAPTURE(round);
    REQUIRE(group[0].send(to(1, 1), payload(16)).succeeded());  // taken
    REQUIRE(group[0].send(to(1, 2), payload(16)).succeeded());  // refused
    const auto& withdrawn = group[0].send(to(1, 3).until(weft::matched), payload(16));
    (void)group[1].receive(from(0, 1), 16);
    (void)group[1].receive(from(0, 2), 1);
    group[0].cancel(withdrawn);
    group.settle();
    REQUIRE(withdrawn.failed_as(errc::cancelled));
  }
  check_nothing_left(group);
}

TEST_CASE("the message beyond max_unmatched is refused by name, on every route") {
  auto limits = small_limits;
  limits.max_unmatched = 2;
  for (const route via : {route::inlined, route::host, route::device}) {
    for (const int source : {0, 1}) {
      CAPTURE(weft::name(via));
      CAPTURE(source);
      simulated_group group(2, limits);
      const auto where = to(1, 1).via(via).until(weft::matched);
      const auto& first = group[source].send(where, payload(4));
      const auto& second = group[source].send(where, payload(4));
      const auto& third = group[source].send(where, payload(4));
      group.settle();
      CHECK_FALSE(first.ended);
      CHECK_FALSE(second.ended);
      CHECK(third.failed_as(errc::too_many_unmatched));
      CHECK(third.details.phase == weft::phase::unmatched);
      CHECK(group[1].endpoint().unmatched_messages() == 2);

      (void)group[1].receive(from(source, 1), 4);
      group.settle();
      CHECK(first.succeeded());
      const auto& again = group[source].send(where, payload(4));
      group.settle();
      CHECK_FALSE(again.ended);
      (void)group[1].receive(from(source, 1), 4);
      (void)group[1].receive(from(source, 1), 4);
      group.settle();
      CHECK(second.succeeded());
      CHECK(again.succeeded());
      check_nothing_left(group);
    }
  }
}

TEST_CASE("a plain inline send beyond max_unmatched is reported late") {
  auto limits = small_limits;
  limits.max_unmatched = 0;
  simulated_group group(2, limits);
  CHECK(group[0].send(to(1, 3), payload(4)).succeeded());
  group.settle();
  REQUIRE(group[0].late.size() == 1);
  CHECK(group[0].late[0].code == errc::too_many_unmatched);
  CHECK(group[1].kept_payloads() == 0);
}
