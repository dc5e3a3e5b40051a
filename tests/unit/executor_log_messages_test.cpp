// SPDX-License-Identifier: Apache-2.0
#include "executor/log_messages.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <vector>

using namespace weft::detail;
namespace protocol = weft::protocol;

namespace {

constexpr int self = 1;
constexpr int ranks = 3;
constexpr int lowest = std::numeric_limits<int>::min();

template <class Content>
bool is_own(const Content& content) {
  return concerns({1, 5, content}, self, ranks);
}

protocol::create creation(protocol::communicator_kind kind, std::vector<int> members) {
  return {.kind = kind, .members = std::move(members)};
}

protocol::batch transfer(int source, int destination) {
  return {{{.source = source, .destination = destination, .send = 1, .receive = 1}}};
}

}  // namespace

TEST_CASE("an entry of the log names ranks that exist, and the one that it is for") {
  using enum protocol::communicator_kind;
  CHECK(is_own(creation(group, {2, 1, 0})));
  CHECK(is_own(creation(group, {1})));
  CHECK(is_own(creation(pair, {0, 1})));
  CHECK_FALSE(is_own(creation(pair, {0, 1, 2})));
  CHECK_FALSE(is_own(creation(pair, {1})));
  CHECK_FALSE(is_own(creation(group, {0, 2})));
  CHECK_FALSE(is_own(creation(group, {1, 1})));
  CHECK_FALSE(is_own(creation(group, {1, 3})));
  CHECK_FALSE(is_own(creation(group, {-1, 1})));

  CHECK(is_own(protocol::connect{0, 1}));
  CHECK(is_own(protocol::connect{1, 2}));
  for (const int other : {3, -1, lowest, 1}) CHECK_FALSE(is_own(protocol::connect{1, other}));
  CHECK_FALSE(is_own(protocol::connect{0, 2}));

  CHECK(is_own(transfer(1, 1)));
  CHECK(is_own(transfer(0, 1)));
  CHECK(is_own(protocol::batch{}));
  for (const int other : {3, -1, lowest}) CHECK_FALSE(is_own(transfer(other, 1)));
  CHECK_FALSE(is_own(transfer(0, 2)));
  CHECK(is_own(protocol::evict{}));
  CHECK(is_own(protocol::abort{}));
}

TEST_CASE("an answer to a split names ranks that exist, and the one that it is for, or a reason") {
  const auto is_own_group = [](std::vector<int> members, weft::errc code = {}) {
    protocol::split_answer answer{.code = code, .group = 1};
    answer.members = std::move(members);
    return concerns(answer, self, ranks);
  };
  CHECK(is_own_group({2, 1}));
  CHECK(is_own_group({}));
  CHECK(is_own_group({}, weft::errc::peer_lost));
  CHECK_FALSE(is_own_group({2, 0}));
  CHECK_FALSE(is_own_group({1, 1}));
  CHECK_FALSE(is_own_group({1, 3}));
  CHECK_FALSE(is_own_group({1, -1}));
  CHECK_FALSE(is_own_group({1}, weft::errc::peer_lost));
  CHECK_FALSE(is_own_group({}, weft::errc::closed));
}

TEST_CASE("an entry whose length does not fit its count is no entry") {
  std::vector<std::byte> body;
  const log_message type = encode({3, 5, transfer(0, 1)}, body);
  REQUIRE(decode(type, body));
  CHECK(decode(type, body)->number == 3);
  body.push_back({});
  CHECK_FALSE(decode(type, body));
  body.resize(body.size() - 2);
  CHECK_FALSE(decode(type, body));
  CHECK_FALSE(decode(log_message::create, {}));
  CHECK_FALSE(decode(log_message::match, body));
}
