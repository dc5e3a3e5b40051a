// SPDX-License-Identifier: Apache-2.0
// Matches that are taken back before the log has them.
#include "endpoint_harness.hpp"

using namespace weft::testing;

namespace {

constexpr std::array log_routes{route::device, route::pair};

/// A send of rank 0 that rank 1 has matched, and whose match the sequencer knows and has not begun.
struct matched_pair {
  explicit matched_pair(route via) : group(3), sent(group[0].send(to(1, 1).via(via), bytes_of("abc"))) {
    received = &group[1].receive(from(any_source, any_tag), 3);
    group.deliver(0, 1);
    group.sequence(1);
  }

  simulated_group group;
  operation_result& sent;
  operation_result* received;
};

}  // namespace

TEST_CASE("a receive that is cancelled before its entry is in the log gives its message to the next receive") {
  for (const route via : log_routes) {
    CAPTURE(weft::name(via));
    matched_pair now(via);
    now.group[1].cancel(*now.received, errc::timed_out);
    CHECK_FALSE(now.received->ended);
    now.group.sequence(1);
    CHECK(now.received->failed_as(errc::timed_out));
    CHECK_FALSE(now.sent.ended);
    CHECK(now.group[1].endpoint().unmatched_messages() == 1);
    const auto& next = now.group[1].receive(from(0, 1), 3);
    now.group.settle();
    CHECK(next.content == bytes_of("abc"));
    CHECK(now.sent.succeeded());
  }
}

TEST_CASE("a message goes back to its old place in the queue, before what came after it") {
  matched_pair now(route::device);
  (void)now.group[0].send(to(1, 1), bytes_of("def"));
  now.group.deliver(0, 1);
  now.group[1].cancel(*now.received);
  now.group.sequence(1);
  const auto& first = now.group[1].receive(from(0, 1), 3);
  const auto& second = now.group[1].receive(from(0, 1), 3);
  now.group.settle();
  CHECK(first.content == bytes_of("abc"));
  CHECK(second.content == bytes_of("def"));
}

TEST_CASE("a message goes back to a receive that was posted meanwhile") {
  matched_pair now(route::pair);
  const auto& next = now.group[1].receive(from(0, 1), 3);
  now.group[1].cancel(*now.received);
  now.group.settle();
  CHECK(now.received->failed_as(errc::cancelled));
  CHECK(next.content == bytes_of("abc"));
  CHECK(now.sent.succeeded());
}

TEST_CASE("a send that is cancelled before its entry is in the log gives its receive back") {
  for (const route via : log_routes) {
    CAPTURE(weft::name(via));
    matched_pair now(via);
    const auto& later = now.group[1].receive(from(any_source, any_tag), 3);
    now.group[0].cancel(now.sent);
    now.group.settle();
    CHECK(now.sent.failed_as(errc::cancelled));
    CHECK_FALSE(now.received->ended);
    // Its old place: before the receive that was posted after it, with its wildcards.
    (void)now.group[2].send(to(1, 9), bytes_of("xyz"));
    now.group.settle();
    CHECK(now.received->content == bytes_of("xyz"));
    CHECK(now.received->details.peer == 2);
    CHECK_FALSE(later.ended);
  }
}

TEST_CASE("a receive that is given back takes a message that waits") {
  matched_pair now(route::device);
  (void)now.group[2].send(to(1, 5), bytes_of("xyz"));
  now.group.deliver(2, 1);
  now.group[0].cancel(now.sent);
  now.group.settle();
  CHECK(now.sent.failed_as(errc::cancelled));
  CHECK(now.received->content == bytes_of("xyz"));
}

TEST_CASE("both ends may leave at once") {
  for (const route via : log_routes) {
    matched_pair now(via);
    now.group[1].cancel(*now.received);
    now.group[0].cancel(now.sent);
    now.group.deliver(0, 1);
    now.group.settle();
    CHECK(now.sent.failed_as(errc::cancelled));
    CHECK(now.received->failed_as(errc::cancelled));
    CHECK(now.group[1].endpoint().unmatched_messages() == 0);
    CHECK(now.group[1].endpoint().in_flight() == 0);
  }
}

TEST_CASE("what has been begun is carried out, whoever wants to leave") {
  for (const route via : log_routes) {
    CAPTURE(weft::name(via));
    matched_pair now(via);
    now.group.launch();
    now.group[1].cancel(*now.received, errc::timed_out);
    now.group.sequence(1);
    now.group[0].cancel(now.sent);
    now.group.deliver(0, 1);
    CHECK(now.group[1].reports.empty());  // the sequencer has refused, and is not asked again
    now.group.settle();
    CHECK(now.sent.succeeded());
    CHECK(now.received->succeeded());
  }
}

TEST_CASE("a message to oneself can be taken back from the log by either end") {
  for (const bool sender_leaves : {true, false}) {
    CAPTURE(sender_leaves);
    simulated_group group(2);
    const auto& sent = group[0].send(to(0, 1).via(route::device), bytes_of("abc"));
    const auto& received = group[0].receive(from(0, 1), 3);
    group.sequence(0);
    group[0].cancel(sender_leaves ? sent : received);
    group.sequence(0);
    CHECK((sender_leaves ? sent : received).failed_as(errc::cancelled));
    CHECK_FALSE((sender_leaves ? received : sent).ended);
    CHECK(group[0].endpoint().in_flight() == 0);
    if (sender_leaves)
      (void)group[0].send(to(0, 1), bytes_of("def"));
    else
      (void)group[0].receive(from(0, 1), 3);
    group.settle();
    CHECK((sender_leaves ? received : sent).succeeded());
  }
}

TEST_CASE("a match that is undone after its sender was lost leaves no message") {
  matched_pair now(route::device);
  now.group[1].cancel(*now.received);
  now.group[1].lose(0);
  now.group.sequence(1);
  CHECK(now.received->failed_as(errc::cancelled));
  CHECK(now.group[1].endpoint().unmatched_messages() == 0);
}

TEST_CASE("a match that is undone after a close ends both halves") {
  for (const bool sender_leaves : {true, false}) {
    matched_pair now(route::device);
    if (sender_leaves) {
      now.group[0].cancel(now.sent);
      now.group.deliver(0, 1);
    } else {
      now.group[1].cancel(*now.received);
    }
    now.group[1].close();
    now.group.sequence(1);
    CHECK(now.received->failed_as(sender_leaves ? errc::closed : errc::cancelled));
    CHECK(now.group[1].endpoint().unmatched_messages() == 0);
    CHECK(now.group[1].running() == 0);
  }
}

TEST_CASE("a grant for a send that is being carried out is no answer of this protocol") {
  simulated_group group(2);
  const auto& sent = group[0].send(to(1, 1).via(route::host), bytes_of("abc"));
  (void)group[1].receive(from(0, 1), 3);
  group.deliver(0, 1);
  group[0].cancel(sent);
  group.deliver(1, 0);  // clear: the bytes are on their way
  const weft::protocol::withdrawn lie{.send = sent.id};
  const auto body = std::as_bytes(std::span(&lie, 1));
  CHECK_FALSE(group[0].deliver(1, {weft::protocol::message_type::withdrawn, {body.begin(), body.end()}, {}}));
  CHECK_FALSE(sent.ended);
}
