// SPDX-License-Identifier: Apache-2.0
// Operations that end otherwise than by being carried out: cancelled, closed, without their peer or the log.
#include "endpoint_harness.hpp"

using namespace weft::testing;

namespace {

constexpr std::array waiting_routes{route::inlined, route::host, route::device, route::pair};

weft::destination waiting(int rank, std::uint64_t tag, route via) {
  return to(rank, tag).via(via).until(weft::matched);
}

}  // namespace

TEST_CASE("a cancelled receive takes no message") {
  simulated_group group(2);
  const auto& first = group[1].receive(from(0, 1), 3);
  const auto& second = group[1].receive(from(0, 1), 3);
  group[1].cancel(first);
  CHECK(first.failed_as(errc::cancelled));
  CHECK(first.details.phase == weft::phase::unmatched);
  (void)group[0].send(to(1, 1), bytes_of("abc"));
  group.settle();
  CHECK(second.content == bytes_of("abc"));
}

TEST_CASE("an unmatched send that is cancelled is withdrawn on both sides") {
  for (const route via : waiting_routes) {
    for (const int source : {0, 1}) {
      CAPTURE(weft::name(via));
      simulated_group group(2);
      const auto& first = group[source].send(waiting(1, 1, via), bytes_of("abc"));
      const auto& second = group[source].send(waiting(1, 1, via), bytes_of("def"));
      group.settle();
      group[source].cancel(first);
      group.settle();
      CHECK(first.failed_as(errc::cancelled));
      CHECK(group[1].endpoint().unmatched_messages() == 1);
      const auto& received = group[1].receive(from(source, 1), 3);
      group.settle();
      CHECK(received.content == bytes_of("def"));
      CHECK(second.succeeded());
      CHECK(group[1].kept_payloads() == 0);
    }
  }
}

TEST_CASE("a cancellation that crosses the match on the link comes too late, and the message is carried out") {
  for (const route via : {route::inlined, route::host}) {
    CAPTURE(weft::name(via));
    simulated_group group(2);
    const auto& sent = group[0].send(waiting(1, 1, via), bytes_of("abc"));
    const auto& received = group[1].receive(from(0, 1), 3);
    group.deliver(0, 1);
    group[0].cancel(sent);
    group[0].cancel(sent, errc::timed_out);
    group.settle();
    CHECK(sent.succeeded());
    CHECK(received.content == bytes_of("abc"));
  }
}

TEST_CASE("a cancellation that crosses a refusal ends with the refusal") {
  for (const route via : waiting_routes) {
    simulated_group group(2);
    const auto& sent = group[0].send(waiting(1, 1, via), bytes_of("abc"));
    (void)group[1].receive(from(0, 1), 9);
    group.deliver(0, 1);
    group[0].cancel(sent);
    group.settle();
    CHECK(sent.failed_as(errc::size_mismatch));
  }
}

TEST_CASE("a matched receive cannot be cancelled any more") {
  simulated_group group(2);
  (void)group[0].send(to(1, 1).via(route::host), bytes_of("abc"));
  const auto& received = group[1].receive(from(0, 1), 3);
  group.deliver(0, 1);
  group[1].cancel(received);
  CHECK_FALSE(received.ended);
  CHECK(group[1].endpoint().in_flight() == 1);
  group.settle();
  CHECK(received.succeeded());
}

TEST_CASE("a lost rank fails its own operations and no other") {
  for (const route via : waiting_routes) {
    CAPTURE(weft::name(via));
    simulated_group group(3);
    const auto& send_to_lost = group[0].send(waiting(2, 1, via), bytes_of("abc"));
    const auto& send_to_living = group[0].send(waiting(1, 1, via), bytes_of("abc"));
    const auto& from_lost = group[0].receive(from(2, any_tag), 3);
    const auto& from_living = group[0].receive(from(1, 1), 3);
    const auto& from_any = group[0].receive(from(any_source, 2), 3);
    group.settle();
    group.lose(2);
    CHECK(send_to_lost.failed_as(errc::peer_lost));
    CHECK(from_lost.failed_as(errc::peer_lost));
    CHECK(group[0].running() == 3);
    CHECK(group[0].send(to(2, 1), {}).failed_as(errc::peer_lost));
    CHECK(group[0].receive(from(2, 1), 3).failed_as(errc::peer_lost));

    const auto& received = group[1].receive(from(0, 1), 3);
    (void)group[1].send(to(0, 1), bytes_of("abc"));
    (void)group[1].send(to(0, 2), bytes_of("abc"));
    group.settle();
    for (const auto* one : {&send_to_living, &from_living, &from_any, &received}) CHECK(one->succeeded());
  }
}

TEST_CASE("what had arrived whole from a lost rank can be received, the rest is forgotten") {
  simulated_group group(2);
  (void)group[0].send(to(1, 1).via(route::host), bytes_of("announced"));
  (void)group[0].send(to(1, 1), bytes_of("whole"));
  (void)group[0].send(to(1, 2).until(weft::matched), bytes_of("whole"));
  group.settle();
  group.lose(0);
  CHECK(group[1].endpoint().unmatched_messages() == 2);
  CHECK(group[1].receive(from(any_source, any_tag), 5).content == bytes_of("whole"));
  CHECK(group[1].receive(from(0, 2), 5).content == bytes_of("whole"));
  CHECK(group[1].receive(from(0, 2), 5).failed_as(errc::peer_lost));
  CHECK(group[1].kept_payloads() == 0);
}

TEST_CASE("a transfer that is under way when its peer is lost fails") {
  simulated_group group(3);
  const auto& received = group[1].receive(from(0, 1), 40);
  (void)group[0].send(to(1, 1).via(route::host), payload(40));
  const auto& sent = group[1].send(to(0, 1).via(route::host), payload(40));
  (void)group[0].receive(from(1, 1), 40);
  for (int i = 0; i < 5; ++i) group.step();
  CHECK(group[1].endpoint().in_flight() == 2);
  group.lose(0);
  CHECK(received.failed_as(errc::peer_lost));
  CHECK(sent.failed_as(errc::peer_lost));
  CHECK(group[1].endpoint().in_flight() == 0);
}

TEST_CASE("a transfer that the launch thread has begun is left to it when the peer is lost") {
  simulated_group group(3);
  const auto& sent = group[0].send(to(1, 1).via(route::device), payload(4));
  const auto& received = group[1].receive(from(0, 1), 4);
  group.deliver(0, 1);
  group.sequence(1);
  group.launch();
  group[0].lose(1);
  CHECK_FALSE(sent.ended);
  CHECK(group[0].endpoint().in_flight() == 1);
  group.settle();
  CHECK(sent.succeeded());
  CHECK(received.succeeded());
  CHECK(group[0].endpoint().in_flight() == 0);
}

TEST_CASE("a receive from any source fails when no other rank is left, and says how the last one went") {
  simulated_group group(3);
  const auto& received = group[0].receive(from(any_source, 1), 3);
  group.lose(1);
  CHECK_FALSE(received.ended);
  group.leave(2);
  group.settle();
  CHECK(received.failed_as(errc::peer_left));
  CHECK(group[0].receive(from(any_source, any_tag), 3).failed_as(errc::peer_left));
}

TEST_CASE("a rank that leaves is told apart from one that is lost, and its first reason stays") {
  simulated_group group(3);
  const auto& received = group[0].receive(from(1, 1), 3);
  (void)group[1].send(to(0, 2), bytes_of("bye"));
  group.leave(1);
  group.settle();
  CHECK(received.failed_as(errc::peer_left));
  group[0].lose(1);
  CHECK(group[0].send(to(1, 1), {}).failed_as(errc::peer_left));
  CHECK(group[0].receive(from(1, 2), 3).content == bytes_of("bye"));
}

TEST_CASE("close fails what is unmatched and what is started later, and carries out what is matched") {
  simulated_group group(2);
  const auto& matched = group[0].send(to(1, 1).via(route::host), payload(30));
  const auto& received = group[1].receive(from(0, 1), 30);
  std::vector<const operation_result*> unmatched;
  for (const route via : waiting_routes) unmatched.push_back(&group[0].send(waiting(1, 2, via), payload(4)));
  unmatched.push_back(&group[0].receive(from(any_source, 3), 4));
  const auto& withdrawing = group[0].send(waiting(1, 4, route::host), payload(4));
  group[0].cancel(withdrawing);
  group.deliver(0, 1);
  group.deliver(1, 0);
  group[0].close();
  for (const auto* one : unmatched) CHECK(one->failed_as(errc::closed));
  CHECK(withdrawing.failed_as(errc::closed));
  CHECK(group[0].endpoint().in_flight() == 1);
  CHECK(group[0].send(to(1, 1), {}).failed_as(errc::closed));
  CHECK(group[0].receive(from(1, 1), 0).failed_as(errc::closed));
  group.settle();
  CHECK(matched.succeeded());
  CHECK(received.succeeded());
  CHECK(group[0].endpoint().in_flight() == 0);
}

TEST_CASE("the match of a send that a close has ended fails at the receiver when the goodbye comes") {
  for (const route via : {route::host, route::device}) {
    simulated_group group(2);
    const auto& sent = group[0].send(waiting(1, 1, via), payload(4));
    const auto& received = group[1].receive(from(0, 1), 4);
    group.leave(0);
    group.settle();
    CHECK(sent.failed_as(errc::closed));
    CHECK(received.ended);
    CHECK(received.code);
    CHECK(group[1].endpoint().in_flight() == 0);
  }
}

TEST_CASE("a closed endpoint drops what is announced to it") {
  simulated_group group(2);
  group[1].close();
  const auto& plain = group[0].send(to(1, 1), payload(4));
  const auto& waits = group[0].send(waiting(1, 1, route::host), payload(4));
  group.settle();
  CHECK(plain.succeeded());
  CHECK(group[1].kept_payloads() == 0);
  CHECK(group[1].endpoint().unmatched_messages() == 0);
  group.leave(1);
  group.settle();
  CHECK(waits.failed_as(errc::peer_left));
}

TEST_CASE("end_all ends every operation, whatever its state") {
  simulated_group group(2);
  (void)group[0].send(to(1, 1).via(route::host), payload(30));
  (void)group[1].receive(from(0, 1), 30);
  (void)group[0].send(to(1, 2).via(route::device), payload(4));
  (void)group[1].receive(from(0, 2), 4);
  (void)group[0].send(to(0, 1).via(route::pair), payload(4));
  (void)group[1].receive(from(any_source, any_tag), 4);
  group.deliver(0, 1);
  group.deliver(1, 0);
  group.deliver(0, 1);
  group.sequence(1);
  group.launch();
  for (int rank = 0; rank < 2; ++rank) {
    group[rank].event([](auto& endpoint, auto& out) { endpoint.end_all(errc::closed, out); });
    CHECK(group[rank].running() == 0);
    CHECK(group[rank].endpoint().in_flight() == 0);
    for (const auto& one : group[rank].results()) CHECK(one.failed_as(errc::closed));
  }
}

TEST_CASE("without the log, device transfers that have not begun end by name, and the link goes on") {
  simulated_group group(2);
  const auto lose_log = [&](int rank) {
    group[rank].event([](auto& endpoint, auto& out) { endpoint.on_log_lost(out); });
  };
  const auto& begun = group[0].send(to(1, 1).via(route::device), payload(4));
  const auto& begun_too = group[1].receive(from(0, 1), 4);
  const auto& waits = group[0].send(to(1, 2).via(route::pair), payload(4));
  const auto& sequenced = group[1].receive(from(0, 2), 4);
  const auto& kept = group[0].send(to(1, 3).via(route::device), payload(4));
  for (int i = 0; i < 3; ++i) group.deliver(0, 1);
  group.sequence(1);
  group.launch();
  lose_log(1);
  CHECK_FALSE(begun_too.ended);
  CHECK(sequenced.failed_as(errc::sequencer_lost));
  CHECK(group[1].receive(from(0, 3), 4).failed_as(errc::sequencer_lost));
  group.deliver(1, 0);
  CHECK(kept.failed_as(errc::sequencer_lost));
  CHECK_FALSE(waits.ended);
  lose_log(0);
  CHECK(waits.failed_as(errc::sequencer_lost));
  CHECK(group[0].send(to(1, 1).via(route::device), {}).failed_as(errc::sequencer_lost));
  const auto& over_link = group[0].send(to(1, 5).via(route::host), payload(4));
  (void)group[1].receive(from(0, 5), 4);
  group.settle();
  CHECK(begun.succeeded());
  CHECK(begun_too.succeeded());
  CHECK(over_link.succeeded());
}
