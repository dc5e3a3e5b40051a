// SPDX-License-Identifier: Apache-2.0
#include "sequencer_fixture.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <variant>
#include <vector>

using namespace weft::testing;

TEST_CASE("the first transfer finds its communicator created and its direction connected, on both ends") {
  sequencer_fixture all(3);
  all.match(group, between(0, 1));
  for (const int rank : {0, 1}) {
    REQUIRE(all.log(rank).size() == 3);
    CHECK(std::get<create>(all.log(rank)[0].content).members == std::vector{0, 1, 2});
    CHECK(std::get<connect>(all.log(rank)[1].content).source == 0);
    CHECK(std::get<connect>(all.log(rank)[1].content).destination == 1);
    CHECK(transfers(all.log(rank)[2]) == std::vector{between(0, 1)});
    for (std::size_t i = 0; i < 3; ++i) CHECK(all.log(rank)[i].number == i + 1);
  }
  CHECK(all.log(2).size() == 1);  // a member, but no end of that transfer
}

TEST_CASE("set-ups are not repeated, but each direction has its own") {
  sequencer_fixture all(2);
  all.match(group, between(0, 1));
  all.finish_everywhere(3);
  all.match(group, between(0, 1));
  CHECK(all.log(0).size() == 4);
  all.finish_everywhere(4);
  all.match(group, between(1, 0));
  REQUIRE(all.log(0).size() == 6);
  CHECK(std::get<connect>(all.log(0)[4].content).source == 1);
}

TEST_CASE("a pair has one communicator for both directions, numbered by first use, which others never see") {
  sequencer_fixture all(4);
  all.match(pair, between(3, 1));
  all.match(pair, between(0, 2));
  all.match(pair, between(1, 3));
  CHECK(all.log(0).front().communicator == 2);
  CHECK(all.log(1).front().communicator == 1);
  const auto& made = std::get<create>(all.log(3).front().content);
  CHECK(made.kind == pair);
  CHECK(made.members == std::vector{1, 3});
  CHECK(all.log(3).size() == 5);  // create, and a connect and a batch each way
  CHECK(std::vector(all.subject().members(1).begin(), all.subject().members(1).end()) == std::vector{1, 3});
  CHECK(all.subject().members(2).front() == 0);
  CHECK(all.subject().members(3).empty());
  CHECK(all.subject().members(group_communicator).size() == 4);
}

TEST_CASE("a rank can send to itself within the group, which needs no connection") {
  sequencer_fixture all(2);
  all.match(group, between(1, 1));
  REQUIRE(all.log(1).size() == 2);
  CHECK(transfers(all.log(1)[1]) == std::vector{between(1, 1)});
  CHECK_FALSE(all.subject().drained(1));
  CHECK(all.finish(1, 2));
  CHECK(all.subject().drained(1));
  CHECK(all.subject().idle());
}

TEST_CASE("two batches of a communicator are unfinished at most, and what matches meanwhile makes one more") {
  sequencer_fixture all(4);
  occupy(all);
  all.match(group, between(2, 3));
  all.match(group, between(1, 2));
  all.match(group, between(0, 1));
  CHECK(all.subject().unfinished_batches(group_communicator) == max_unfinished_batches);
  CHECK(all.subject().pending_transfers(group_communicator) == 3);
  CHECK(all.batches(3).empty());

  const std::uint64_t first = all.batches(0).front().number;
  CHECK(all.finish(0, first));
  CHECK(all.batches(3).empty());  // rank 1 is still at it
  CHECK(all.finish(1, first));
  CHECK(all.subject().pending_transfers(group_communicator) == 0);
  REQUIRE(all.batches(3).size() == 1);
  const std::uint64_t number = all.batches(3).front().number;
  CHECK(all.batches(0).back().number == number);
  CHECK(transfers(all.batches(1).back()) == std::vector{between(1, 2), between(0, 1)});
  CHECK(transfers(all.batches(2).back()) == std::vector{between(2, 3), between(1, 2)});
}

TEST_CASE("one communicator's unfinished batches do not hold another's back") {
  sequencer_fixture all(2);
  occupy(all);
  all.match(pair, between(0, 1, 9));
  CHECK(all.batches(1).back().communicator == 1);
}

TEST_CASE("a batch carries one transfer from a rank to another, and they keep their order") {
  sequencer_fixture all(2);
  occupy(all);
  for (std::uint64_t id = 1; id <= 5; ++id) all.match(group, between(0, 1, id));
  for (std::size_t at = 0; at < all.batches(0).size(); ++at) all.finish_everywhere(all.batches(0)[at].number);
  REQUIRE(all.batches(1).size() == 7);
  for (std::uint64_t id = 1; id <= 5; ++id) CHECK(transfers(all.batches(1)[id + 1]) == std::vector{between(0, 1, id)});
}

TEST_CASE("no rank meets more than eight peers in a batch, and the oldest transfers go first") {
  constexpr int ranks = 24;
  sequencer_fixture all(ranks);
  occupy(all);
  for (int source = 1; source < ranks; ++source) all.match(group, between(source, 0));
  for (int rank = 1; rank < ranks; ++rank) all.match(group, between(0, rank));
  std::vector<int> heard;
  for (std::size_t at = 0; at < all.batches(0).size(); ++at) {
    std::set<int> peers;
    for (const transfer& one : transfers(all.batches(0)[at])) {
      peers.insert(std::max(one.source, one.destination));
      if (one.destination == 0) heard.push_back(one.source);
    }
    CHECK(peers.size() <= max_peers_per_batch);
    // The way back to a peer that is in the batch costs nothing more.
    if (at == 2) CHECK(transfers(all.batches(0)[at]).size() == 2 * max_peers_per_batch);
    all.finish_everywhere(all.batches(0)[at].number);
  }
  CHECK(heard.size() == ranks - 1);
  CHECK(std::is_sorted(heard.begin(), heard.end()));
  CHECK(all.subject().idle());
}

TEST_CASE("lanes that are always full do not keep another waiting") {
  constexpr std::uint64_t ahead = 10;
  sequencer_fixture all(12);
  occupy(all);
  std::uint64_t id = 0;
  const auto fill_lanes = [&] {
    ++id;
    for (int peer = 1; peer <= 8; ++peer) all.match(group, between(peer, 0, id));
  };
  while (id < ahead) fill_lanes();
  all.match(group, between(9, 0));  // a ninth peer, in no batch that takes the eight others
  std::size_t at = 0;
  for (; all.batches(9).empty() && at < 100; ++at) {
    fill_lanes();
    all.finish_everywhere(all.batches(0)[at].number);
  }
  // What was matched before it stands in front of it, eight at a time; nothing that came later does.
  CHECK(at == ahead + 1);
}

TEST_CASE("a report that is not owed changes nothing") {
  sequencer_fixture all(3);
  occupy(all);
  const std::uint64_t first = all.batches(0).front().number;
  CHECK_FALSE(all.finish(2, first));
  CHECK_FALSE(all.finish(0, 1));       // a set-up
  CHECK_FALSE(all.finish(0, 12'345));  // no entry yet
  CHECK(all.finish(0, first));
  CHECK_FALSE(all.finish(0, first));
  CHECK(all.subject().unfinished_batches(group_communicator) == 2);
}

TEST_CASE("a transfer can be withdrawn until it is in the log") {
  sequencer_fixture all(3);
  occupy(all);
  for (std::uint64_t id = 1; id <= 4; ++id) all.match(group, between(1, 2, id));
  CHECK_FALSE(all.subject().withdraw(group, between(0, 1, 502)));
  CHECK_FALSE(all.subject().withdraw(group, between(1, 2, 9)));
  CHECK_FALSE(all.subject().withdraw(group, between(2, 1, 1)));
  for (const std::uint64_t id : {1U, 3U, 4U}) CHECK(all.subject().withdraw(group, between(1, 2, id)));
  CHECK_FALSE(all.subject().withdraw(group, between(1, 2, 3)));
  CHECK_FALSE(all.subject().drained(2));
  all.match(group, between(1, 2, 5));
  for (std::size_t at = 0; at < all.batches(1).size(); ++at) all.finish_everywhere(all.batches(1)[at].number);
  REQUIRE(all.batches(2).size() == 2);
  CHECK(transfers(all.batches(2)[0]) == std::vector{between(1, 2, 2)});
  CHECK(transfers(all.batches(2)[1]) == std::vector{between(1, 2, 5)});
  CHECK(all.subject().idle());
  CHECK(all.subject().drained(1));
  CHECK(all.subject().drained(2));
}

TEST_CASE("a lane whose first transfer was withdrawn stands where its next one belongs") {
  sequencer_fixture all(4);
  occupy(all);
  all.match(group, between(2, 3, 1));
  all.match(group, between(3, 2, 2));
  all.match(group, between(2, 3, 3));
  CHECK(all.subject().withdraw(group, between(2, 3, 1)));
  all.finish_everywhere(all.batches(0).front().number);
  CHECK(transfers(all.batches(2).front()) == std::vector{between(3, 2, 2), between(2, 3, 3)});
}

TEST_CASE("what waits behind the first transfers of its lanes is taken by age too") {
  sequencer_fixture all(4);
  occupy(all);
  const std::vector waiting{between(2, 3, 1), between(3, 2, 2), between(3, 2, 3), between(2, 3, 4)};
  for (const transfer& one : waiting) all.match(group, one);
  all.finish_everywhere(all.batches(0)[0].number);
  all.finish_everywhere(all.batches(0)[1].number);
  REQUIRE(all.batches(2).size() == 2);
  CHECK(transfers(all.batches(2)[0]) == std::vector{waiting[0], waiting[1]});
  CHECK(transfers(all.batches(2)[1]) == std::vector{waiting[2], waiting[3]});
}

TEST_CASE("a rank is drained when none of its transfers waits or is unfinished") {
  sequencer_fixture all(3);
  CHECK(all.subject().idle());
  all.match(pair, between(0, 1));
  CHECK_FALSE(all.subject().idle());
  CHECK_FALSE(all.subject().drained(0));
  CHECK(all.subject().drained(2));
  const std::uint64_t only = all.batches(0).front().number;
  CHECK(all.finish(0, only));
  CHECK(all.subject().drained(0));
  CHECK_FALSE(all.subject().drained(1));
  CHECK(all.finish(1, only));
  CHECK(all.subject().drained(1));
  CHECK(all.subject().idle());
}

TEST_CASE("a rank that is gone owes nothing, and others go on") {
  sequencer_fixture all(3);
  occupy(all);
  all.match(group, between(1, 2));
  CHECK_FALSE(all.finish(2, all.batches(0)[0].number));
  CHECK(all.finish(1, all.batches(0)[0].number));
  CHECK(all.subject().pending_transfers(group_communicator) == 1);
  all.lose(0);
  CHECK(all.subject().drained(0));
  CHECK(all.subject().pending_transfers(group_communicator) == 0);
  REQUIRE(all.batches(2).size() == 1);
  CHECK_FALSE(all.finish(0, all.batches(1)[1].number));
  all.finish_everywhere(all.batches(1)[1].number);
  all.finish_everywhere(all.batches(2)[0].number);
  CHECK(all.subject().idle());
}

TEST_CASE("a transfer with a rank that is gone goes to the other rank alone") {
  sequencer_fixture all(3);
  all.lose(1);
  all.match(pair, between(1, 2));
  CHECK(all.log(1).empty());
  REQUIRE(all.log(2).size() == 1);  // no set-up: nothing will move
  CHECK(transfers(all.log(2)[0]) == std::vector{between(1, 2)});
  CHECK(all.finish(2, all.log(2)[0].number));
  CHECK(all.subject().idle());
}

TEST_CASE("a transfer between two ranks that are gone is dropped") {
  sequencer_fixture all(4);
  occupy(all);
  all.match(group, between(2, 3));
  all.lose(2);
  all.lose(3);
  all.match(group, between(3, 2));
  CHECK(all.subject().drained(2));
  all.lose(0);
  all.finish_everywhere(all.batches(1)[0].number);
  all.finish_everywhere(all.batches(1)[1].number);
  CHECK(all.subject().idle());
  CHECK(all.subject().pending_transfers(group_communicator) == 0);
  CHECK(all.batches(2).empty());
  all.match(group, between(3, 2));
  CHECK(all.subject().idle());
}

TEST_CASE("both ends see the same batches with the same transfers") {
  constexpr int ranks = 6;
  sequencer_fixture all(ranks);
  for (std::uint64_t round = 1; round <= 20; ++round)
    for (int source = 0; source < ranks; ++source)
      for (int destination = 0; destination < ranks; ++destination)
        all.match(group, between(source, destination, round));
  std::map<std::uint64_t, std::vector<std::pair<int, transfer>>> seen;
  for (std::uint64_t number = 1; !all.subject().idle(); ++number) all.finish_everywhere(number);
  for (int rank = 0; rank < ranks; ++rank) {
    std::uint64_t last = 0;
    for (const log_entry& entry : all.log(rank)) {
      CHECK(entry.number > last);
      last = entry.number;
    }
    for (const log_entry& entry : all.batches(rank))
      for (const transfer& one : transfers(entry)) seen[entry.number].emplace_back(rank, one);
  }
  std::size_t parts = 0;
  for (const auto& [number, those] : seen) {
    for (const auto& [rank, what] : those) {
      CHECK((rank == what.source || rank == what.destination));
      for (const int end : {what.source, what.destination})
        CHECK(std::count(those.begin(), those.end(), std::pair(end, what)) == 1);
    }
    parts += those.size();
  }
  CHECK(parts == 20 * (ranks * ranks * 2 - ranks));
}

TEST_CASE("ten thousand transfers between two ranks that wait do not make batches slow") {
  constexpr std::uint64_t many = 10'000;
  sequencer_fixture all(4);
  for (std::uint64_t id = 1; id <= many; ++id) all.match(group, between(0, 1, id));
  CHECK(all.subject().pending_transfers(group_communicator) == many - 2);
  // 3 is the first batch, and no other set-up follows. Searching all that waits would take 10^8 steps.
  for (std::uint64_t number = 3; number < 3 + many; ++number) {
    REQUIRE(all.finish(0, number));
    REQUIRE(all.finish(1, number));
  }
  CHECK(all.subject().idle());
  CHECK(transfers(all.log(1).back()) == std::vector{between(0, 1, many)});
}
