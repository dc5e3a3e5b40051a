// SPDX-License-Identifier: Apache-2.0
// What ranks may say to the sequencer, and what they may not.
#include "executor/sequencer_desk.hpp"

#include <doctest/doctest.h>

#include <map>
#include <vector>

using namespace weft::detail;
namespace protocol = weft::protocol;

namespace {

constexpr int ranks = 3;

/// Counts what is said to each rank.
struct mailbox final : desk_mail {
  void send_to_log(int rank, log_message type, std::span<const std::byte>) override { ++to_log[{rank, type}]; }
  void send_to_engine(int rank, log_message type, std::span<const std::byte>) override { ++to_engine[{rank, type}]; }

  template <class Body>
  bool say(int from, log_message type, const Body& body) {
    return desk.on_message(from, type, std::as_bytes(std::span(&body, 1)));
  }

  std::map<std::pair<int, log_message>, int> to_log;
  std::map<std::pair<int, log_message>, int> to_engine;
  sequencer_desk desk{ranks, {}, *this};
};

constexpr match_body honest{.through_pair = 0,
                            .reserved = {},
                            .source = 0,
                            .destination = 1,
                            .reserved_too = 0,
                            .send = 5,
                            .receive = 6,
                            .bytes = 7,
                            .group = 0};

template <class Change>
match_body changed(Change change) {
  match_body body = honest;
  change(body);
  return body;
}

}  // namespace

TEST_CASE("a match is told by its receiver, of ranks and groups that exist, and names both operations") {
  const std::vector bad{
      changed([](auto& body) { body.through_pair = 2; }),
      changed([](auto& body) { body.source = 3; }),
      changed([](auto& body) { body.source = -1; }),
      changed([](auto& body) { body.destination = 0; }),
      changed([](auto& body) { body.group = 1; }),
      changed([](auto& body) { body.through_pair = 1, body.source = 1; }),
      changed([](auto& body) { body.send = 0; }),
      changed([](auto& body) { body.receive = 0; }),
  };
  mailbox all;
  for (const match_body& body : bad) {
    CHECK_FALSE(all.say(1, log_message::match, body));
    CHECK_FALSE(all.say(1, log_message::withdraw_match, body));
  }
  CHECK(all.to_log.empty());
  CHECK(all.say(1, log_message::match, honest));
  CHECK(all.to_log.at({0, log_message::batch}) == 1);
  CHECK(all.to_log.at({1, log_message::batch}) == 1);
}

TEST_CASE("a rank is told nothing of the log once it has left") {
  mailbox all;
  CHECK(all.say(2, log_message::leaving, leaving_body{}));
  CHECK(all.desk.is_gone(2));
  CHECK(all.to_log.at({2, log_message::log_end}) == 1);
  const auto told = [&] {
    int sum = 0;
    for (const auto& [what, count] : all.to_log) sum += what.first == 2 ? count : 0;
    return sum;
  };
  const int before = told();
  CHECK(all.say(1, log_message::match, honest));
  CHECK(all.say(2, log_message::leaving, leaving_body{}));
  all.desk.rank_lost(1);
  CHECK(told() == before);
  CHECK(all.desk.is_deserted());
}

TEST_CASE("a rank that leaves learns the name of the communicator that it is still to help create") {
  mailbox all;
  CHECK(all.say(1, log_message::match, honest));
  CHECK(all.to_log.at({2, log_message::create}) == 1);
  CHECK(all.say(2, log_message::leaving, leaving_body{}));
  CHECK(all.say(0, log_message::identity, unique_id_body{}));
  CHECK(all.to_log.at({1, log_message::identity}) == 1);
  CHECK(all.to_log.at({2, log_message::identity}) == 1);
}

TEST_CASE("what a sequencer says, and what nobody says, is not for a sequencer") {
  mailbox all;
  for (const auto type : {log_message::create, log_message::batch, log_message::rank_gone, log_message::log_end,
                          static_cast<log_message>(0), static_cast<log_message>(255)})
    CHECK_FALSE(all.say(1, type, honest));
  for (const auto type : {log_message::match, log_message::withdraw_match, log_message::finished, log_message::failed,
                          log_message::reserve, log_message::split, log_message::identity})
    CHECK_FALSE(all.desk.on_message(1, type, {}));
}
