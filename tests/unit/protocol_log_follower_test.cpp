// SPDX-License-Identifier: Apache-2.0
#include "protocol/log_follower.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

namespace {

using namespace weft::protocol;
using weft::errc;

constexpr int self = 1;

log_entry creation(std::uint64_t number, communicator_id on, std::vector<int> members) {
  return {number, on, create{communicator_kind::pair, std::move(members)}};
}
log_entry connection(std::uint64_t number, communicator_id on, int source, int destination) {
  return {number, on, connect{source, destination}};
}
log_entry group_of_one(std::uint64_t number, communicator_id on) {
  return {number, on, batch{{transfer{.source = self, .destination = 0}}}};
}

/// The number of the entry that is carried out next, or 0.
std::uint64_t next_of(log_follower& follower) {
  const auto entry = follower.next();
  return entry ? entry->number : 0;
}

TEST_CASE("entries are carried out in the order of the log, one set-up at a time") {
  log_follower follower(self);
  follower.append(creation(1, 5, {1, 2}));
  follower.append(connection(2, 5, 1, 2));
  follower.append(group_of_one(3, 5));
  follower.append(group_of_one(4, 5));
  CHECK(next_of(follower) == 1);
  CHECK(next_of(follower) == 0);
  CHECK(follower.set_up_ended({}).number == 1);
  CHECK(next_of(follower) == 2);
  CHECK(next_of(follower) == 0);
  CHECK(follower.set_up_ended({}).number == 2);
  CHECK(next_of(follower) == 3);
  CHECK(next_of(follower) == 4);
  CHECK(follower.take_failures().empty());
}

TEST_CASE("a communicator of others' making is created once its unique id has come") {
  log_follower follower(self);
  follower.append(creation(1, 5, {0, 1}));
  CHECK(next_of(follower) == 0);
  follower.identity_arrived(5);
  CHECK(next_of(follower) == 1);
}

TEST_CASE("where the rank that makes the unique id is gone, the communicator has failed, and the sequencer is told") {
  log_follower follower(self);
  follower.append(creation(1, 5, {0, 1}));
  follower.append(connection(2, 5, 0, 1));
  follower.append(group_of_one(3, 5));
  follower.rank_gone(0, errc::peer_lost);
  CHECK(next_of(follower) == 3);  // for its operations to be failed, and its end to be reported
  REQUIRE(follower.failure_of(5) != nullptr);
  CHECK(*follower.failure_of(5) == errc::peer_lost);
  CHECK(follower.take_failures() == std::vector<communicator_id>{5});
  CHECK(follower.take_failures().empty());
}

TEST_CASE("a communicator that fails with the loss of a member makes no lost ranks of the others") {
  log_follower follower(self);
  follower.failed_here(5, errc::peer_lost);
  follower.failed_here(6, errc::timed_out);
  follower.rank_gone(2, errc::peer_lost);
  CHECK(follower.failure_for(5, 2) == errc::peer_lost);
  CHECK(follower.failure_for(5, 3) == errc::transfer_aborted);
  CHECK(follower.failure_for(6, 2) == errc::peer_lost);
  CHECK(follower.failure_for(6, 3) == errc::timed_out);
  CHECK(!follower.failure_for(7, 2));
}

TEST_CASE("a batch waits while too many communicators are under way, and no later entry passes it") {
  log_follower follower(self, 1);
  follower.append(group_of_one(1, 5));
  follower.append(group_of_one(2, 6));
  follower.append(group_of_one(3, 5));
  CHECK(next_of(follower) == 1);
  CHECK(next_of(follower) == 0);
  follower.batch_ended(5);
  CHECK(next_of(follower) == 2);
  CHECK(next_of(follower) == 0);
  follower.batch_ended(6);
  CHECK(next_of(follower) == 3);
}

TEST_CASE("a set-up that fails makes its communicator useless, unless a rank is gone that it connects to") {
  log_follower follower(self);
  follower.append(connection(1, 5, 1, 2));
  follower.append(connection(2, 5, 1, 3));
  follower.rank_gone(2, errc::peer_left);
  CHECK(next_of(follower) == 1);
  (void)follower.set_up_ended(errc::peer_left);
  CHECK(follower.failure_of(5) == nullptr);
  CHECK(next_of(follower) == 2);
  (void)follower.set_up_ended(errc::timed_out);
  REQUIRE(follower.failure_of(5) != nullptr);
  CHECK(*follower.failure_of(5) == errc::timed_out);
  CHECK(follower.take_failures() == std::vector<communicator_id>{5});
}

TEST_CASE("a failure elsewhere is not reported, and the first reason stays") {
  log_follower follower(self);
  follower.failed_elsewhere(5, errc::transfer_aborted);
  follower.failed_here(5, errc::timed_out);
  CHECK(*follower.failure_of(5) == errc::transfer_aborted);
  CHECK(follower.take_failures().empty());
}

TEST_CASE("destroying a communicator takes its turn as a set-up does") {
  log_follower follower(self);
  follower.append({1, 5, evict{}});
  follower.append(group_of_one(2, 6));
  const auto entry = follower.next();
  REQUIRE(entry);
  CHECK(std::holds_alternative<evict>(entry->content));
  CHECK(next_of(follower) == 0);
  (void)follower.set_up_ended({});
  CHECK(next_of(follower) == 2);
}

TEST_CASE("a lease waits for what was issued before it, and what comes after it for its end") {
  log_follower follower(self);
  follower.append(group_of_one(1, 5));
  follower.append(group_of_one(2, 6));
  follower.append({3, group_communicator, lease{77}});
  follower.append(group_of_one(4, 5));
  follower.append(creation(5, 7, {1, 2}));
  CHECK(next_of(follower) == 1);
  CHECK(next_of(follower) == 2);
  follower.batch_ended(6);
  CHECK(next_of(follower) == 0);
  follower.batch_ended(5);
  const auto entry = follower.next();
  REQUIRE(entry);
  CHECK(std::get<lease>(entry->content).wish == 77);
  CHECK(next_of(follower) == 0);
  CHECK_FALSE(follower.is_idle());
  follower.lease_ended();
  CHECK(next_of(follower) == 4);
  CHECK(next_of(follower) == 5);
}

TEST_CASE("a lease is of no communicator: it is given where the first one has failed, and after a set-up") {
  log_follower follower(self);
  follower.failed_elsewhere(group_communicator, errc::transfer_aborted);
  follower.append(creation(1, 5, {1, 2}));
  follower.append({2, group_communicator, lease{77}});
  CHECK(next_of(follower) == 1);
  CHECK(next_of(follower) == 0);
  (void)follower.set_up_ended({});
  CHECK(next_of(follower) == 2);
  follower.lease_ended();
  CHECK(follower.is_idle());
}

TEST_CASE("nothing is carried out of a log that is lost") {
  log_follower follower(self);
  follower.append(group_of_one(1, 5));
  follower.clear();
  CHECK(next_of(follower) == 0);
  CHECK(follower.waiting() == 0);
}

}  // namespace
