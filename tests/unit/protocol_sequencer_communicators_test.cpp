// SPDX-License-Identifier: Apache-2.0
#include "sequencer_fixture.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace weft::protocol;
using namespace weft::testing;

namespace {

constexpr sequencer_limits room_for_one{.pair_budget = 1, .eviction_patience = 0};

template <class Content>
std::vector<log_entry> entries_of(const sequencer_fixture& all, int rank) {
  std::vector<log_entry> found;
  for (const log_entry& one : all.log(rank))
    if (std::holds_alternative<Content>(one.content)) found.push_back(one);
  return found;
}

/// A transfer by a pair of two ranks, from its match to its end.
void carry_out(sequencer_fixture& all, int source, int destination) {
  all.match(pair, between(source, destination));
  all.finish_everywhere(all.batches(source).back().number);
}

}  // namespace

TEST_CASE("a rank that has its number of pairs loses the idle one that it used longest ago, at both ends") {
  sequencer_fixture all(4, {.pair_budget = 2, .eviction_patience = 0});
  carry_out(all, 0, 1);
  carry_out(all, 0, 2);
  carry_out(all, 1, 0);
  const communicator_id oldest = entries_of<create>(all, 2).front().communicator;
  carry_out(all, 0, 3);
  REQUIRE(entries_of<evict>(all, 0).size() == 1);
  CHECK(entries_of<evict>(all, 0).front().communicator == oldest);
  CHECK(entries_of<evict>(all, 2).size() == 1);
  CHECK(entries_of<evict>(all, 1).empty());
  CHECK(all.subject().pairs_of(0) == 2);
  CHECK(all.subject().pairs_of(2) == 0);
}

TEST_CASE("the eviction stands before the creation that needs the room") {
  sequencer_fixture all(3, room_for_one);
  carry_out(all, 0, 1);
  all.match(pair, between(0, 2));
  CHECK(entries_of<evict>(all, 0).front().number < entries_of<create>(all, 0).back().number);
}

TEST_CASE("an evicted pair that is used again is a new communicator") {
  sequencer_fixture all(3, room_for_one);
  carry_out(all, 0, 1);
  carry_out(all, 0, 2);
  carry_out(all, 0, 1);
  const auto creations = entries_of<create>(all, 1);
  REQUIRE(creations.size() == 2);
  CHECK(creations[0].communicator != creations[1].communicator);
  CHECK(entries_of<connect>(all, 1).size() == 2);
}

TEST_CASE("where no pair may be evicted, the transfer takes the communicator of its group") {
  sequencer_fixture all(3, room_for_one);
  all.match(pair, between(0, 1));
  all.match(pair, between(0, 2));  // the first is not finished
  CHECK(all.batches(2).front().communicator == group_communicator);
  CHECK(entries_of<evict>(all, 0).empty());
  CHECK(all.subject().pairs_of(2) == 0);
}

TEST_CASE("a pair that was in use a short while ago is not evicted") {
  sequencer_fixture all(3, {.pair_budget = 1, .eviction_patience = 10});
  carry_out(all, 0, 1);
  carry_out(all, 0, 2);
  CHECK(all.batches(2).front().communicator == group_communicator);
  for (int i = 0; i < 10; ++i) carry_out(all, 0, 2);
  CHECK(all.batches(2).back().communicator != group_communicator);
  CHECK(entries_of<evict>(all, 0).size() == 1);
}

TEST_CASE("a budget of no pairs sends all by the group's communicator") {
  sequencer_fixture all(2, {.pair_budget = 0});
  carry_out(all, 0, 1);
  CHECK(all.batches(1).front().communicator == group_communicator);
}

TEST_CASE("a transfer that took the group's communicator for want of room can be withdrawn") {
  sequencer_fixture all(2, {.pair_budget = 0});
  occupy(all);
  all.match(pair, between(1, 0, 7));
  CHECK(all.subject().withdraw(pair, between(1, 0, 7)));
  CHECK_FALSE(all.subject().withdraw(pair, between(1, 0, 7)));
}

TEST_CASE("a pair of a rank that is gone leaves its room to others") {
  sequencer_fixture all(3, room_for_one);
  carry_out(all, 0, 1);
  all.lose(1);
  CHECK(all.subject().pairs_of(0) == 0);
  CHECK(entries_of<evict>(all, 0).size() == 1);
}

TEST_CASE("a communicator that failed at one rank is aborted at all, and what waited takes another one") {
  sequencer_fixture all(3);
  occupy(all);
  all.match(group, between(1, 2, 7));
  REQUIRE(all.fail(1, group_communicator));
  for (int rank = 0; rank < 3; ++rank) CHECK(entries_of<weft::protocol::abort>(all, rank).size() == 1);
  REQUIRE(all.batches(2).size() == 1);
  const communicator_id next = all.batches(2).front().communicator;
  CHECK(next != group_communicator);
  CHECK(entries_of<create>(all, 2).back().communicator == next);
  CHECK(entries_of<connect>(all, 2).back().communicator == next);
  for (std::size_t i = 0; i < all.batches(1).size(); ++i) all.finish_everywhere(all.batches(1)[i].number);
  CHECK(all.subject().idle());
  CHECK(all.subject().members(group_communicator).empty());
}

TEST_CASE("a second rank that reports the same failure changes nothing, and strangers may not report") {
  sequencer_fixture all(3);
  all.match(pair, between(0, 1));
  const communicator_id pair_of_both = all.batches(0).front().communicator;
  CHECK_FALSE(all.fail(2, pair_of_both));
  CHECK(all.fail(0, pair_of_both));
  CHECK(all.fail(1, pair_of_both));
  CHECK(entries_of<weft::protocol::abort>(all, 0).size() == 1);
  CHECK(all.subject().pairs_of(0) == 0);
}

TEST_CASE("a communicator is created by the members that are there") {
  sequencer_fixture all(4);
  all.lose(0);
  all.match(group, between(1, 2));
  CHECK(std::get<create>(entries_of<create>(all, 2).front().content).members == std::vector{1, 2, 3});
}

TEST_CASE("the report on a batch stands for all before it on the same communicator") {
  sequencer_fixture all(3);
  occupy(all);
  all.match(group, between(0, 1, 503));
  REQUIRE(all.batches(0).size() == 2);
  const auto last = all.batches(0)[1].number;
  CHECK(all.finish(0, last));
  CHECK_FALSE(all.finish(0, all.batches(0)[0].number));
  CHECK(all.finish(1, last));
  CHECK(all.batches(0).size() == 3);
}

TEST_CASE("a reserved pair is created and connected both ways, and answered for when both ranks have done it") {
  sequencer_fixture all(3);
  all.reserve(2, 1);
  for (const int rank : {1, 2}) {
    CHECK(entries_of<create>(all, rank).size() == 1);
    CHECK(entries_of<connect>(all, rank).size() == 2);
    REQUIRE(all.batches(rank).size() == 1);
    CHECK(transfers(all.batches(rank).front()).empty());
  }
  CHECK(all.log(0).empty());
  (void)all.finish(1, all.batches(1).front().number);
  CHECK(all.subject().take_answers().empty());
  (void)all.finish(2, all.batches(2).front().number);
  const auto answers = all.subject().take_answers();
  REQUIRE(answers.size() == 1);
  CHECK(answers.front().rank == 2);
  CHECK(answers.front().peer == 1);
  CHECK(answers.front().end == reservation_end::made);
  CHECK(all.subject().idle());
  CHECK(all.subject().drained(1));

  all.match(pair, between(1, 2));  // nothing is left to set up
  CHECK(entries_of<create>(all, 1).size() == 1);
  CHECK(entries_of<connect>(all, 1).size() == 2);
}

TEST_CASE("a reservation behind transfers of its pair is answered for after them, each wish once") {
  sequencer_fixture all(2);
  for (std::uint64_t i = 1; i <= 4; ++i) all.match(pair, between(0, 1, i));
  all.reserve(0, 1);
  all.reserve(1, 0);
  CHECK(all.subject().take_answers().empty());
  std::size_t answered = 0;
  for (std::size_t i = 0; i < all.batches(0).size(); ++i) {
    CHECK(answered == 0);
    all.finish_everywhere(all.batches(0)[i].number);
    answered += all.subject().take_answers().size();
  }
  CHECK(answered == 2);
  std::size_t carried = 0;
  for (const log_entry& one : all.batches(0)) carried += transfers(one).size();
  CHECK(carried == 4);
}

TEST_CASE("a reservation without room, of a communicator that fails or with a rank that goes is answered for by name") {
  sequencer_fixture all(4, {.pair_budget = 1, .eviction_patience = 1000});
  const auto ends = [&all] {
    std::vector<reservation_end> found;
    for (const reservation_answer& one : all.subject().take_answers()) found.push_back(one.end);
    return found;
  };
  carry_out(all, 0, 1);
  all.reserve(0, 2);
  CHECK(ends() == std::vector{reservation_end::no_room});

  all.reserve(2, 3);
  (void)all.fail(3, entries_of<create>(all, 2).back().communicator);
  all.finish_everywhere(all.batches(2).back().number);
  CHECK(ends() == std::vector{reservation_end::failed});

  all.reserve(2, 3);
  (void)all.finish(2, all.batches(2).back().number);
  all.lose(3);
  CHECK(ends() == std::vector{reservation_end::peer_lost});
  all.reserve(2, 3);
  CHECK(ends() == std::vector{reservation_end::peer_lost});
  all.leave(0);
  all.reserve(1, 0);
  CHECK(ends() == std::vector{reservation_end::peer_left});
}

TEST_CASE("pairs are limited by their number and by the memory that they take, whichever is less") {
  constexpr std::size_t unknown = 0;
  CHECK(sequencer_limits{.pair_budget = 3, .pair_budget_bytes = 10, .pair_bytes = unknown}.most_pairs() == 3);
  CHECK(sequencer_limits{.pair_budget = 3, .pair_budget_bytes = 39, .pair_bytes = 10}.most_pairs() == 3);
  CHECK(sequencer_limits{.pair_budget = 3, .pair_budget_bytes = 29, .pair_bytes = 10}.most_pairs() == 2);
  sequencer_fixture all(3, {.pair_budget = 16, .pair_budget_bytes = 19, .pair_bytes = 10});
  all.match(pair, between(0, 1));
  all.match(pair, between(0, 2));
  CHECK(all.subject().pairs_of(0) == 1);
  CHECK(all.batches(2).front().communicator == group_communicator);
}

TEST_CASE("a lease has one place in the log of all who asked for it, under the name of each") {
  sequencer_fixture all(3);
  all.match(group, between(0, 1));
  all.lease_devices({{0, 7}, {1, 8}});
  all.match(group, between(0, 1, 2));
  for (const int rank : {0, 1}) {
    const auto leases = entries_of<lease>(all, rank);
    REQUIRE(leases.size() == 1);
    CHECK(std::get<lease>(leases.front().content).wish == (rank == 0 ? 7 : 8));
    CHECK(leases.front().number == entries_of<lease>(all, 0).front().number);
    CHECK(all.batches(rank).front().number < leases.front().number);
    CHECK(leases.front().number < all.batches(rank).back().number);
  }
  CHECK(all.log(2).size() == 1);  // the creation
  for (const log_entry& one : all.batches(0)) all.finish_everywhere(one.number);
  CHECK(all.subject().idle());  // of the lease, nobody reports
}

TEST_CASE("a rank that is gone gets no lease, and the others do") {
  sequencer_fixture all(3);
  all.lose(2);
  all.lease_devices({{1, 8}, {2, 9}});
  CHECK(entries_of<lease>(all, 1).size() == 1);
  CHECK(entries_of<lease>(all, 2).empty());
}
