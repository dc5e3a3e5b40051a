// SPDX-License-Identifier: Apache-2.0
#include "protocol/lease_wishes.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

using weft::errc;
using namespace weft::protocol;

namespace {

/// Three ranks in one group, and two of them in another one.
struct fixture {
  fixture() {
    std::vector<split_answer> formed;
    for (const int rank : {0, 1, 2}) REQUIRE(groups.ask(rank, root_group, rank == 0 ? -1 : 0, 0, formed));
    for (const split_answer& one : formed)
      if (!one.members.empty()) half = one.group;
  }

  /// The names that belong together, in order of rank; none where somebody has not asked.
  std::vector<std::uint64_t> ask(int rank, std::uint64_t name, group_number group = root_group) {
    std::vector<lease_wish> complete;
    REQUIRE(wishes.ask(rank, group, name, complete, out));
    std::vector<std::uint64_t> names;
    for (const lease_wish& one : complete) names.push_back(one.name);
    return names;
  }

  group_splits groups{3};
  group_number half = root_group;
  lease_wishes wishes{groups, 3};
  std::vector<lease_answer> out;
};

using names = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("a lease is complete once each member of its group has asked, and each wish counts once") {
  fixture all;
  CHECK(all.ask(2, 21).empty());
  CHECK(all.ask(0, 1).empty());
  CHECK(all.ask(0, 2).empty());
  CHECK(all.ask(1, 11) == names{1, 11, 21});
  CHECK(all.ask(1, 12).empty());
  CHECK(all.ask(2, 22) == names{2, 12, 22});
  CHECK(all.out.empty());
}

TEST_CASE("leases of other groups do not wait for each other") {
  fixture all;
  CHECK(all.ask(1, 11).empty());
  CHECK(all.ask(1, 12, all.half).empty());
  CHECK(all.ask(2, 21, all.half) == names{12, 21});
}

TEST_CASE("a lease that was taken back does not count, unless all had asked") {
  fixture all;
  (void)all.ask(0, 1);
  (void)all.ask(0, 2);
  (void)all.ask(1, 11);
  all.wishes.withdraw(0, root_group, 1, all.out);
  REQUIRE(all.out.size() == 1);
  CHECK(all.out.front().rank == 0);
  CHECK(all.out.front().wish == 1);
  CHECK(all.out.front().code == errc::cancelled);
  CHECK(all.ask(2, 21) == names{2, 11, 21});
  for (const group_number group : {root_group, all.half}) all.wishes.withdraw(0, group, 2, all.out);
  CHECK(all.out.size() == 1);
}

TEST_CASE("a group that has lost a member has no leases: who waits is told, and who asks later") {
  fixture all;
  (void)all.ask(0, 1);
  (void)all.ask(2, 21);
  (void)all.ask(2, 22, all.half);
  all.wishes.rank_gone(0, errc::peer_left, all.out);
  REQUIRE(all.out.size() == 2);
  for (const lease_answer& one : all.out) {
    CHECK(one.code == errc::peer_left);
    CHECK(one.gone == 0);
    CHECK(one.wish == (one.rank == 0 ? 1 : 21));
  }
  CHECK(all.ask(1, 11).empty());
  REQUIRE(all.out.size() == 3);
  CHECK(all.out.back().wish == 11);
  CHECK(all.ask(1, 12, all.half) == names{12, 22});
}

TEST_CASE("nobody asks for a group that it is not in, or that is none") {
  fixture all;
  std::vector<lease_wish> complete;
  CHECK_FALSE(all.wishes.ask(0, all.half, 1, complete, all.out));
  CHECK_FALSE(all.wishes.ask(0, 77, 1, complete, all.out));
  all.wishes.withdraw(0, 77, 1, all.out);
  CHECK(all.out.empty());
}
