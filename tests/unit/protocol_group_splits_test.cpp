// SPDX-License-Identifier: Apache-2.0
#include "protocol/group_splits.hpp"

#include <doctest/doctest.h>

#include <vector>

using weft::errc;
using weft::protocol::group_number;
using weft::protocol::group_splits;
using weft::protocol::root_group;
using weft::protocol::split_answer;

namespace {

using answers = std::vector<split_answer>;
using ranks = std::vector<int>;

const split_answer& of(const answers& all, int rank) {
  for (const split_answer& one : all)
    if (one.rank == rank) return one;
  FAIL("no answer for the rank");
  return all.front();
}

/// Three ranks, of which 1 and 2 have formed a group, the higher first, and 0 one of its own.
struct one_and_two {
  one_and_two() {
    answers formed;
    for (const int rank : {0, 1, 2}) REQUIRE(splits.ask(rank, root_group, rank == 0 ? 0 : 1, -rank, formed));
    lone = of(formed, 0).group;
    pair = of(formed, 1).group;
    CHECK(of(formed, 2).members == ranks{2, 1});
  }

  group_splits splits{3};
  group_number lone = root_group;
  group_number pair = root_group;
  answers out;  ///< of what is asked next
};

}  // namespace

TEST_CASE("ranks of one color form a group, ordered by key and then by their old rank") {
  group_splits splits(5);
  answers out;
  CHECK(splits.ask(0, root_group, 7, 1, out));
  CHECK(splits.ask(4, root_group, 7, 0, out));
  CHECK(splits.ask(2, root_group, 7, 1, out));
  CHECK(splits.ask(3, root_group, 0, 0, out));
  CHECK(out.empty());
  CHECK(splits.ask(1, root_group, -1, 0, out));
  REQUIRE(out.size() == 5);
  for (const int member : {0, 2, 4}) CHECK(of(out, member).members == ranks{4, 0, 2});
  CHECK(of(out, 3).members == ranks{3});
  CHECK(of(out, 3).group != of(out, 4).group);
  CHECK(of(out, 1).members.empty());
  CHECK_FALSE(of(out, 1).code != errc{});
  CHECK(splits.has_member(of(out, 4).group, 2));
  CHECK_FALSE(splits.has_member(of(out, 4).group, 3));
}

TEST_CASE("groups can be split again, and splits of parent and child are told apart") {
  one_and_two formed;
  auto& [splits, lone, child, out] = formed;
  CHECK(splits.ask(1, child, 0, 0, out));
  CHECK(splits.ask(1, root_group, 0, 0, out));
  CHECK(splits.ask(2, root_group, 0, 0, out));
  CHECK(out.empty());
  CHECK(splits.ask(2, child, 0, 0, out));
  CHECK(out.size() == 2);
  CHECK(of(out, 1).parent == child);
  CHECK(of(out, 1).members == ranks{2, 1});
}

TEST_CASE("the n-th split of each member belong together") {
  group_splits splits(2);
  answers out;
  CHECK(splits.ask(0, root_group, 0, 0, out));
  CHECK(splits.ask(0, root_group, 1, 0, out));
  CHECK(splits.ask(1, root_group, 0, 0, out));
  CHECK(of(out, 0).members == ranks{0, 1});
  out.clear();
  CHECK(splits.ask(1, root_group, 2, 0, out));
  CHECK(of(out, 0).members == ranks{0});
  CHECK(of(out, 1).members == ranks{1});
}

TEST_CASE("who is no member cannot take part") {
  one_and_two formed;
  auto& [splits, lone, pair, out] = formed;
  CHECK_FALSE(splits.ask(0, pair, 0, 0, out));
  CHECK_FALSE(splits.ask(1, lone, 0, 0, out));
  CHECK_FALSE(splits.ask(-1, root_group, 0, 0, out));
  CHECK_FALSE(splits.ask(0, pair + lone + 1, 0, 0, out));
  CHECK(out.empty());
}

TEST_CASE("when a rank is gone the splits of its groups fail, now and later, and no others") {
  one_and_two formed;
  auto& [splits, lone, pair, out] = formed;
  CHECK(splits.ask(1, pair, 0, 0, out));
  CHECK(splits.ask(0, root_group, 0, 0, out));
  splits.rank_gone(2, errc::peer_lost, out);
  CHECK(out.size() == 2);
  for (const int rank : {0, 1}) {
    CHECK(of(out, rank).code == errc::peer_lost);
    CHECK(of(out, rank).gone == 2);
  }
  out.clear();
  CHECK(splits.ask(1, root_group, 0, 0, out));
  CHECK(of(out, 1).code == errc::peer_lost);
  out.clear();
  CHECK(splits.ask(0, lone, 0, 0, out));
  CHECK(of(out, 0).members == ranks{0});
}
