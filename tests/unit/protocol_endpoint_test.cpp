// SPDX-License-Identifier: Apache-2.0
#include "endpoint_harness.hpp"

#include <string>

using namespace weft::testing;

namespace {

constexpr std::array all_routes{route::automatic, route::inlined, route::host, route::device, route::pair};

payload filled(std::size_t size) {
  payload made(size);
  for (std::size_t i = 0; i < size; ++i) made[i] = static_cast<std::byte>(i + 1);
  return made;
}

bool may_carry(route which, std::size_t size) {
  return which != route::inlined || size <= eager_limit;
}

}  // namespace

TEST_CASE("a message arrives over every route, whichever end starts first, at any size") {
  for (const route via : all_routes) {
    for (const std::size_t size : {0U, 1U, 16U, 45U}) {
      for (const bool send_first : {true, false}) {
        if (!may_carry(via, size)) continue;
        CAPTURE(weft::name(via));
        CAPTURE(size);
        CAPTURE(send_first);
        simulated_group group(2);
        operation_result* sent = nullptr;
        operation_result* received = nullptr;
        const auto send = [&] { sent = &group[0].send(to(1, 7).via(via), filled(size)); };
        const auto receive = [&] { received = &group[1].receive(from(0, 7), size); };
        send_first ? send() : receive();
        group.settle();
        send_first ? receive() : send();
        group.settle();
        CHECK(sent->succeeded());
        REQUIRE(received->succeeded());
        CHECK(received->content == filled(size));
        CHECK(received->details.peer == 0);
        CHECK(received->details.tag == 7);
        CHECK(received->details.bytes() == size);
        CHECK(received->details.phase == weft::phase::done);
        CHECK(group[1].kept_payloads() == 0);
        CHECK(group[0].endpoint().in_flight() == 0);
        CHECK(group[1].endpoint().in_flight() == 0);
      }
    }
  }
}

TEST_CASE("a message to oneself arrives over every route, whichever end starts first, at any size") {
  for (const int ranks : {1, 2}) {
    for (const route via : all_routes) {
      for (const std::size_t size : {0U, 16U, 45U}) {
        for (const bool until_matched : {false, true}) {
          if (!may_carry(via, size)) continue;
          CAPTURE(weft::name(via));
          CAPTURE(size);
          simulated_group group(ranks);
          simulated_rank& self = group[0];
          auto where = to(0, 1).via(via);
          if (until_matched) where = where.until(weft::matched);
          const auto& early_send = self.send(where, filled(size));
          const auto& late_receive = self.receive(from(any_source, any_tag), size);
          group.settle();
          where.tag = 2;
          const auto& early_receive = self.receive(from(0, 2), size);
          const auto& late_send = self.send(where, filled(size));
          group.settle();
          for (const auto* one : {&early_send, &late_receive, &early_receive, &late_send}) {
            CHECK(one->succeeded());
            CHECK(one->content == filled(size));
          }
          CHECK(late_receive.details.peer == 0);
          CHECK(late_receive.details.tag == 1);
          CHECK(self.kept_payloads() == 0);
          CHECK(self.endpoint().in_flight() == 0);
        }
      }
    }
  }
}

TEST_CASE("automatic takes the link for small host memory, a stream for large, the log for device memory") {
  simulated_group group(2);
  (void)group[1].receive(from(0, 1), eager_limit);
  (void)group[1].receive(from(0, 1), eager_limit + 1);
  (void)group[1].receive(from(0, 1), 1);
  CHECK(group[0].send(to(1, 1), filled(eager_limit)).succeeded());
  const auto& large = group[0].send(to(1, 1), filled(eager_limit + 1));
  const auto& device = group[0].send(to(1, 1), filled(1), on_device);
  for (int i = 0; i < 3; ++i) group.deliver(0, 1);
  CHECK(group[1].reports.size() == 1);
  group.deliver(1, 0);  // credit for the first
  group.deliver(1, 0);
  CHECK(group[0].streams.size() == 1);
  CHECK_FALSE(large.ended);
  CHECK_FALSE(device.ended);
  group.settle();
  CHECK(large.succeeded());
  CHECK(device.succeeded());
}

TEST_CASE("a plain inline send is over when the link has its bytes, one until(matched) when it is matched") {
  simulated_group group(2);
  const auto& plain = group[0].send(to(1, 1), filled(4));
  const auto& waiting = group[0].send(to(1, 2).until(weft::matched), filled(4));
  group.settle();
  CHECK(plain.succeeded());
  CHECK_FALSE(waiting.ended);
  CHECK(group[1].kept_payloads() == 2);
  const auto& received = group[1].receive(from(0, 2), 4);
  CHECK(received.succeeded());
  CHECK_FALSE(waiting.ended);
  group.settle();
  CHECK(waiting.succeeded());
}

TEST_CASE("the inline route refuses more than the eager limit at the call") {
  simulated_group group(2);
  const auto& sent = group[0].send(to(1, 1).via(route::inlined), filled(eager_limit + 1));
  CHECK(sent.failed_as(errc::message_too_large));
  CHECK(sent.details.reason.find(std::to_string(eager_limit)) != std::string::npos);
  CHECK(group[0].out[1].empty());
}

TEST_CASE("a rank outside of the group is refused at the call") {
  simulated_group group(2);
  CHECK(group[0].send(to(2, 1), filled(1)).failed_as(errc::rank_out_of_range));
  CHECK(group[0].send(to(-1, 1), filled(1)).failed_as(errc::rank_out_of_range));
  CHECK(group[0].receive(from(2, 1), 1).failed_as(errc::rank_out_of_range));
  CHECK(group[0].receive(from(-1, 1), 1).failed_as(errc::rank_out_of_range));
  CHECK(group[0].running() == 0);
}

TEST_CASE("messages of one source and tag never overtake each other, whatever routes they take") {
  for (const bool posted_first : {true, false}) {
    simulated_group group(2);
    std::vector<const operation_result*> received;
    const auto receive = [&] {
      for (int i = 0; i < 8; ++i) received.push_back(&group[1].receive(from(0, 3), 5));
    };
    if (posted_first) receive();
    for (int i = 0; i < 8; ++i) {
      const route via = all_routes[static_cast<std::size_t>(i) % all_routes.size()];
      (void)group[0].send(to(1, 3).via(via), payload(5, static_cast<std::byte>(i)));
    }
    group.settle();
    if (!posted_first) receive();
    group.settle();
    for (std::size_t i = 0; i < received.size(); ++i) {
      REQUIRE(received[i]->succeeded());
      CHECK(received[i]->content == payload(5, static_cast<std::byte>(i)));
    }
  }
}

TEST_CASE("wildcards take the earliest message that satisfies them and say whose it was") {
  simulated_group group(3);
  (void)group[1].send(to(0, 5), bytes_of("one"));
  group.settle();
  (void)group[2].send(to(0, 6), bytes_of("two"));
  (void)group[2].send(to(0, 7).via(route::host), bytes_of("six"));
  group.settle();
  const auto& of_two = group[0].receive(from(2, any_tag), 3);
  const auto& tagged = group[0].receive(from(any_source, 7), 3);
  const auto& anything = group[0].receive(from(any_source, any_tag), 3);
  group.settle();
  CHECK(of_two.content == bytes_of("two"));
  CHECK(of_two.details.tag == 6);
  CHECK_FALSE(of_two.details.any_tag);
  CHECK(tagged.content == bytes_of("six"));
  CHECK(tagged.details.peer == 2);
  CHECK(anything.content == bytes_of("one"));
  CHECK(anything.details.peer == 1);
  CHECK(anything.details.tag == 5);
}

TEST_CASE("a message goes to the earliest receive that it satisfies, wildcard or not") {
  simulated_group group(2);
  const auto& other_tag = group[1].receive(from(0, 9), 1);
  const auto& wild = group[1].receive(from(any_source, any_tag), 1);
  const auto& exact = group[1].receive(from(0, 4), 1);
  (void)group[0].send(to(1, 4), filled(1));
  group.settle();
  CHECK(wild.succeeded());
  CHECK_FALSE(exact.ended);
  CHECK_FALSE(other_tag.ended);
}

TEST_CASE("objects take the size of their message") {
  for (const route via : {route::inlined, route::host, route::device}) {
    simulated_group group(2);
    (void)group[0].send(to(1, 1).via(via), filled(12), of_objects(77));
    const auto& received = group[1].receive(from(0, 1), 0, of_objects(77));
    group.settle();
    CHECK(received.succeeded());
    CHECK(received.details.bytes() == 12);
    CHECK(received.content == filled(12));
  }
}
