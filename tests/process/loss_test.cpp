// SPDX-License-Identifier: Apache-2.0
// Jobs of several processes, some of which die, leave early, or never come.
#include "../support/spawned_program.hpp"

#include <doctest/doctest.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

using weft::test::spawned_program;
using words = std::vector<std::string>;
using ended = spawned_program::ended;

std::string unique_meeting() {
  static int count = 0;
  return "unix:weft-loss-test-" + std::to_string(getpid()) + "-" + std::to_string(count++);
}

/// A port of this host that nobody listens at.
std::string free_local_meeting() {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  REQUIRE(bind(listener, reinterpret_cast<sockaddr*>(&address), size) == 0);
  REQUIRE(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  close(listener);
  return "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
}

struct job {
  std::string meeting = unique_meeting();
  int world_size = 1;
  words settings;  // more of the environment

  [[nodiscard]] std::unique_ptr<spawned_program> start(int rank, const words& arguments, const words& more = {}) const {
    words command{"/usr/bin/env", "WEFT_RENDEZVOUS=" + meeting, "RANK=" + std::to_string(rank),
                  "WORLD_SIZE=" + std::to_string(world_size)};
    command.insert(command.end(), settings.begin(), settings.end());
    command.insert(command.end(), more.begin(), more.end());
    command.emplace_back(LOSS_RANK_PATH);
    command.insert(command.end(), arguments.begin(), arguments.end());
    return std::make_unique<spawned_program>(std::move(command));
  }

  /// All ranks, to their ends.
  [[nodiscard]] std::vector<ended> run(const words& arguments) const {
    std::vector<std::unique_ptr<spawned_program>> ranks;
    for (int rank = 0; rank < world_size; ++rank) ranks.push_back(start(rank, arguments));
    std::vector<ended> ends;
    for (const auto& rank : ranks) ends.push_back(rank->finish());
    return ends;
  }
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// The line that begins with `what`, without it.
std::string ending(const ended& rank, const std::string& what) {
  const std::string text = "\n" + rank.output;
  const std::size_t begin = text.find("\n" + what + ": ");
  if (begin == std::string::npos) return "(nothing)";
  const std::size_t after = begin + what.size() + 3;
  return text.substr(after, text.find('\n', after) - after);
}

/// Every rank but the last saw it go for the reason `why`, and went on with the others.
void check_survivors(const std::vector<ended>& ends, const std::string& why) {
  const std::string goer = std::to_string(ends.size() - 1);
  for (std::size_t rank = 0; rank + 1 < ends.size(); ++rank) {
    CAPTURE(rank);
    CAPTURE(ends[rank].output);
    CAPTURE(ends[rank].errors);
    CHECK(ends[rank].status == 0);
    CHECK(ending(ends[rank], "together") == "done");
    CHECK(contains(ending(ends[rank], "send"), "send to rank " + goer + ", tag "));
    CHECK(contains(ending(ends[rank], "send"), why));
    CHECK(contains(ending(ends[rank], "receive"), "receive from rank " + goer + ", tag 2, "));
    CHECK(contains(ending(ends[rank], "receive"), why));
    CHECK(contains(ending(ends[rank], "later send"), why));
    CHECK(ending(ends[rank], "without it") == "done");
  }
}

}  // namespace

TEST_CASE("a job of processes runs over Unix sockets and over TCP") {
  for (const std::string route : {"inline", "host", "device", "pair"}) {
    CAPTURE(route);
    const job over_unix{.world_size = 3, .settings = {"WEFT_TRANSPORT=unix"}};
    const job over_tcp{.meeting = free_local_meeting(),
                       .world_size = 3,
                       .settings = {"WEFT_TRANSPORT=tcp", "WEFT_JOB_KEY=the key of a test"}};
    for (const job& one : {over_unix, over_tcp}) {
      for (const ended& rank : one.run({"round", route})) {
        CHECK(rank.status == 0);
        CHECK(rank.output == "round: done\n");
        CHECK(rank.errors.empty());
      }
    }
  }
}

TEST_CASE("a rank that is killed fails what others do with it as lost, and the others go on") {
  for (const std::string route : {"inline", "host", "device", "pair"}) {
    CAPTURE(route);
    const auto ends = job{.world_size = 4, .settings = {}}.run({"killed", route});
    CHECK(ends.back().status == 128 + SIGKILL);
    check_survivors(ends, "the peer was lost");
  }
}

TEST_CASE("a rank that is killed is seen over TCP as well") {
  const job over_tcp{.meeting = free_local_meeting(),
                     .world_size = 3,
                     .settings = {"WEFT_TRANSPORT=tcp", "WEFT_JOB_KEY=the key of a test"}};
  const auto ends = over_tcp.run({"killed", "host"});
  CHECK(ends.back().status == 128 + SIGKILL);
  check_survivors(ends, "the peer was lost");
}

TEST_CASE("a rank that closes early is seen to have left, and the others go on") {
  for (const std::string route : {"inline", "host", "device", "pair"}) {
    CAPTURE(route);
    const auto ends = job{.world_size = 4, .settings = {}}.run({"leaves", route});
    CHECK(ends.back().status == 0);
    check_survivors(ends, "the peer has left");
  }
}

TEST_CASE("without rank 0 the routes that it orders are unusable by name, and the others go on") {
  const auto ends = job{.world_size = 3, .settings = {}}.run({"sequencer"});
  CHECK(ends.front().status == 128 + SIGKILL);
  for (const int rank : {1, 2}) {
    const ended& survivor = ends[static_cast<std::size_t>(rank)];
    CAPTURE(rank);
    CAPTURE(survivor.output);
    CAPTURE(survivor.errors);
    CHECK(survivor.status == 0);
    CHECK(contains(ending(survivor, "receive"), "the peer was lost"));
    CHECK(contains(ending(survivor, "device"), "rank 0, which orders device and pair transfers, is gone"));
    CHECK(contains(ending(survivor, "pair"), "rank 0, which orders device and pair transfers, is gone"));
    CHECK(ending(survivor, "host") == "done");
    CHECK(ending(survivor, "inline") == "done");
  }
}

TEST_CASE("ranks that wait for one that never joins fail by their deadline, and name it") {
  const job one{.world_size = 3, .settings = {}};
  const auto began = std::chrono::steady_clock::now();
  const auto first = one.start(0, {"meet"});
  const auto second = one.start(1, {"meet"});
  for (const auto* rank : {&first, &second}) {
    const ended end = (*rank)->finish();
    CAPTURE(end.output);
    CHECK(end.status == 1);
    CHECK(contains(end.output, "some ranks did not join in time"));
    CHECK(contains(end.output, "rank 2 of 3 did not join within"));
  }
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(10));
}

TEST_CASE("a rank whose rank 0 never comes fails by its deadline, and names it") {
  const ended end = job{.world_size = 2, .settings = {}}.start(1, {"meet"})->finish();
  CAPTURE(end.output);
  CHECK(end.status == 1);
  CHECK(contains(end.output, "rank 0 did not come"));
}

TEST_CASE("a rank with another job key is refused, and both ends say why") {
  const job one{.world_size = 2, .settings = {}};
  const auto first = one.start(0, {"meet"}, {"WEFT_JOB_KEY=one key"});
  const auto second = one.start(1, {"meet"}, {"WEFT_JOB_KEY=another key"});
  const ended refused = second->finish();
  CAPTURE(refused.output);
  CHECK(refused.status == 1);
  CHECK(contains(refused.output, "the other end holds another job key"));
  CHECK(contains(refused.output, "WEFT_JOB_KEY"));
  const ended waiting = first->finish();
  CAPTURE(waiting.output);
  CHECK(waiting.status == 1);
  CHECK(contains(waiting.output, "rank 1 of 2 did not join within"));
  CHECK(contains(waiting.output, "job key"));
}

TEST_CASE("links over TCP without a job key are refused before anything listens") {
  const ended end = job{.world_size = 2, .settings = {"WEFT_TRANSPORT=tcp"}}.start(0, {"meet"})->finish();
  CAPTURE(end.output);
  CHECK(end.status == 1);
  CHECK(contains(end.output, "a job key is needed"));
}
