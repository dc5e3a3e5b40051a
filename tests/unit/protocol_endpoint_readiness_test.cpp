// SPDX-License-Identifier: Apache-2.0
// Operations whose buffer becomes ready after their start.
#include "endpoint_harness.hpp"

using namespace weft::testing;
using weft::any_source;
using weft::errc;
using weft::from;
using weft::route;
using weft::to;

namespace {

constexpr std::array routes{route::inlined, route::host, route::device, route::pair};
constexpr bool not_ready = false;

/// The same between two ranks and within one.
template <class Test>
void for_all_routes(Test test) {
  for (const int sender : {0, 1})
    for (const route via : routes) {
      CAPTURE(weft::name(via));
      CAPTURE(sender);
      simulated_group group(2);
      test(group, sender, via);
    }
}

}  // namespace

TEST_CASE("a message waits for the buffer of its sender, whatever carries it") {
  for_all_routes([](simulated_group& group, int sender, route via) {
    const auto& sent = group[sender].send(to(1, 1).via(via), bytes_of("abc"), {}, not_ready);
    const auto& received = group[1].receive(from(sender, 1), 3);
    group.settle();
    CHECK_FALSE(sent.ended);
    CHECK_FALSE(received.ended);
    group[sender].make_ready(sent);
    group.settle();
    CHECK(sent.succeeded());
    CHECK(received.content == bytes_of("abc"));
  });
}

TEST_CASE("a message waits for the buffer of its receiver, whatever carries it") {
  for_all_routes([](simulated_group& group, int sender, route via) {
    (void)group[sender].send(to(1, 1).via(via), bytes_of("abc"));
    const auto& received = group[1].receive(from(sender, 1), 3, {}, not_ready);
    group.settle();
    CHECK_FALSE(received.ended);
    group[1].make_ready(received);
    group.settle();
    CHECK(received.content == bytes_of("abc"));
    CHECK(group[1].kept_payloads() == 0);
  });
}

TEST_CASE("a buffer that is ready before the other end comes delays nothing") {
  for_all_routes([](simulated_group& group, int sender, route via) {
    const auto& sent = group[sender].send(to(1, 1).via(via), bytes_of("abc"), {}, not_ready);
    group[sender].make_ready(sent);
    group[sender].make_ready(sent);
    group.settle();
    const auto& received = group[1].receive(from(sender, 1), 3);
    group.settle();
    CHECK(received.content == bytes_of("abc"));
    CHECK(sent.succeeded());
  });
}

TEST_CASE("a message that is not ready keeps its place before later ones") {
  simulated_group group(2);
  const auto& first = group[0].send(to(1, 1).via(route::inlined), bytes_of("abc"), {}, not_ready);
  (void)group[0].send(to(1, 1).via(route::inlined), bytes_of("def"));
  const auto& earlier = group[1].receive(from(0, 1), 3);
  const auto& later = group[1].receive(from(0, 1), 3);
  group.settle();
  CHECK(later.content == bytes_of("def"));
  CHECK_FALSE(earlier.ended);
  group[0].make_ready(first);
  group.settle();
  CHECK(earlier.content == bytes_of("abc"));
}

TEST_CASE("a receive that is not ready can be cancelled, and gives its message to the next one") {
  for_all_routes([](simulated_group& group, int sender, route via) {
    (void)group[sender].send(to(1, 1).via(via), bytes_of("abc"));
    const auto& received = group[1].receive(from(any_source, 1), 3, {}, not_ready);
    group.settle();
    group[1].cancel(received, errc::timed_out);
    CHECK(received.failed_as(errc::timed_out));
    const auto& next = group[1].receive(from(sender, 1), 3);
    group.settle();
    CHECK(next.content == bytes_of("abc"));
  });
}

TEST_CASE("a send that is not ready can be cancelled, and gives its receive back") {
  for_all_routes([](simulated_group& group, int sender, route via) {
    const auto& sent = group[sender].send(to(1, 1).via(via), bytes_of("abc"), {}, not_ready);
    const auto& received = group[1].receive(from(any_source, 1), 3);
    group.settle();
    group[sender].cancel(sent);
    group.settle();
    CHECK(sent.failed_as(errc::cancelled));
    CHECK_FALSE(received.ended);
    (void)group[0].send(to(1, 1), bytes_of("def"));
    group.settle();
    CHECK(received.content == bytes_of("def"));
  });
}

TEST_CASE("a sender that is lost before its buffer is ready fails the receive; what had arrived is received") {
  simulated_group group(2);
  (void)group[0].send(to(1, 1).via(route::device), bytes_of("abc"), {}, not_ready);
  (void)group[0].send(to(1, 2).via(route::inlined), bytes_of("def"));
  const auto& never = group[1].receive(from(0, 1), 3);
  const auto& whole = group[1].receive(from(0, 2), 3, {}, not_ready);
  group.settle();
  group.lose(0);
  CHECK(never.failed_as(errc::peer_lost));
  CHECK_FALSE(whole.ended);
  group[1].make_ready(whole);
  CHECK(whole.content == bytes_of("def"));
  CHECK(group[1].endpoint().in_flight() == 0);
}

TEST_CASE("a message that had arrived for a buffer that was not ready outlives its sender and that receive") {
  simulated_group group(2);
  (void)group[0].send(to(1, 2).via(route::inlined), bytes_of("def"));
  const auto& cancelled = group[1].receive(from(0, 2), 3, {}, not_ready);
  group.settle();
  group.lose(0);
  group[1].cancel(cancelled);
  const auto& next = group[1].receive(from(0, 2), 3);
  CHECK(next.content == bytes_of("def"));
}

TEST_CASE("close does not wait for buffers that are not ready") {
  simulated_group group(2);
  (void)group[0].send(to(1, 1).via(route::inlined), bytes_of("abc"));
  const auto& received = group[1].receive(from(0, 1), 3, {}, not_ready);
  const auto& sent = group[1].send(to(0, 1).via(route::pair), bytes_of("abc"), {}, not_ready);
  group.settle();
  group[1].close();
  CHECK(received.failed_as(errc::closed));
  CHECK(sent.failed_as(errc::closed));
  CHECK(group[1].endpoint().in_flight() == 0);
  CHECK(group[1].kept_payloads() == 0);
}

TEST_CASE("matches that are not ready end with the log that was to carry them") {
  simulated_group group(2);
  const auto& sent = group[0].send(to(1, 1).via(route::pair), bytes_of("abc"), {}, not_ready);
  const auto& received = group[1].receive(from(0, 1), 3);
  group.settle();
  for (const int rank : {0, 1}) group[rank].event([](auto& endpoint, auto& actions) { endpoint.on_log_lost(actions); });
  CHECK(sent.failed_as(errc::sequencer_lost));
  CHECK(received.failed_as(errc::sequencer_lost));
}

TEST_CASE("readiness that is announced twice is a violation; of a message that is gone it is not") {
  simulated_group group(2);
  const auto& sent = group[0].send(to(1, 1).via(route::pair), bytes_of("abc"), {}, not_ready);
  const weft::protocol::ready body{.send = sent.id};
  const auto deliver = [&] {
    return group[1].event([&](auto& endpoint, auto& actions) { return endpoint.on_ready(0, body, actions); });
  };
  CHECK(deliver());
  group.settle();
  CHECK(deliver());
  CHECK_FALSE(deliver());
}
