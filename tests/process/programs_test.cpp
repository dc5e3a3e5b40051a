// SPDX-License-Identifier: Apache-2.0
// Programs made by chance, run by four processes: whatever the order of their operations, all complete or end for a
// reason that the program gave.
#include "../support/program_verdict.hpp"
#include "../support/spawned_program.hpp"

#include <weft/engine/error.hpp>

#include <doctest/doctest.h>

#include <iostream>
#include <string>
#include <utility>
#include <vector>

namespace {

using weft::simulation::program;
using weft::test::spawned_program;
using weft::testing::contradictions;
using weft::testing::operation_report;
using weft::testing::rank_report;
using words = std::vector<std::string>;

/// `settings` of the environment; `count` programs, from a seed that rank 0 draws and prints.
void run_programs(const words& settings, const words& weft_run_options, int count) {
  words command{"/usr/bin/env"};
  command.insert(command.end(), settings.begin(), settings.end());
  command.insert(command.end(), {WEFT_RUN_PATH, "-n", "4", "--no-prefix"});
  command.insert(command.end(), weft_run_options.begin(), weft_run_options.end());
  command.insert(command.end(), {PROGRAMS_RANK_PATH, "any", std::to_string(count)});
  spawned_program job(std::move(command));
  const auto ended = job.finish();
  CAPTURE(ended.output);
  CAPTURE(ended.errors);
  CHECK(ended.status == 0);
  CHECK(ended.output.find(std::to_string(count) + " programs, ") != std::string::npos);
  CHECK(ended.output.find(" no contradictions") != std::string::npos);
  std::cout << ended.output;
}

/// Rank 0 sends two messages under one tag, and rank 1 receives two.
program two_messages() {
  program made;
  made.groups.push_back({{0, 1}});
  made.strands.resize(2);
  for (int i = 0; i < 4; ++i) {
    const bool sending = i < 2;
    made.operations.push_back({.number = i,
                               .rank = sending ? 0 : 1,
                               .sending = sending,
                               .peer = sending ? 1 : 0,
                               .via = weft::route::device,
                               .units = 1});
  }
  return made;
}

/// Receive 2 gets message 0, and receive 3 message 1.
std::vector<rank_report> good_reports() {
  std::vector<rank_report> made(2);
  for (int i = 0; i < 2; ++i) made[0].operations.push_back({.number = i, .order = i});
  for (int i = 0; i < 2; ++i) made[1].operations.push_back({.number = 2 + i, .order = i, .source = 0, .message = i});
  return made;
}

/// What the judge says of the good reports, after `change`.
template <class Change>
std::string verdict_after(Change change) {
  program what = two_messages();
  std::vector<rank_report> reports = good_reports();
  change(what, reports[0], reports[1]);
  std::string all;
  for (const std::string& one : contradictions(what, reports)) all += one + '\n';
  return all;
}

constexpr int timed_out = static_cast<int>(weft::errc::timed_out);

}  // namespace

TEST_CASE("200 programs of four processes end as they must, on all routes") {
  run_programs({}, {}, 200);
}

TEST_CASE("programs end as they must over TCP") {
  run_programs({}, {"--tcp"}, 50);
}

TEST_CASE("programs end as they must where ranks may have one pair communicator at a time") {
  run_programs({"WEFT_TEST_PAIR_BUDGET=1"}, {}, 50);
}

TEST_CASE("the judge of programs finds what contradicts them") {
  const auto nothing = [](program&, rank_report&, rank_report&) {};
  CHECK(verdict_after(nothing) == "");

  const auto overtaken = [](program&, rank_report&, rank_report& receiver) {
    std::swap(receiver.operations[0].message, receiver.operations[1].message);
  };
  CHECK(verdict_after(overtaken) == "receive 2 of rank 1: message 1 has overtaken 0\n");

  const auto twice = [](program&, rank_report&, rank_report& receiver) { receiver.operations[1].message = 0; };
  CHECK(verdict_after(twice) ==
        "receive 3 of rank 1: got message 0, as receive 2 did\n"
        "send 1 of rank 0: succeeded, and its message was not received\n");

  const auto without_cause = [](program&, rank_report& sender, rank_report&) { sender.operations[0].code = timed_out; };
  CHECK(verdict_after(without_cause).find("send 0 of rank 0: ended without cause as timed out\n") == 0);

  const auto received_all_the_same = [](program& what, rank_report& sender, rank_report&) {
    what.operations[0].limit = 1;
    sender.operations[0].code = timed_out;
  };
  CHECK(verdict_after(received_all_the_same).find("send 0 of rank 0: failed, and its message was received\n") == 0);

  const auto of_another_tag = [](program& what, rank_report&, rank_report&) { what.operations[1].tag = 9; };
  CHECK(verdict_after(of_another_tag).find("receive 3 of rank 1: got message 1, which is not for it\n") == 0);

  const auto never_started = [](program&, rank_report&, rank_report& receiver) { receiver.operations.pop_back(); };
  CHECK(verdict_after(never_started).find("receive 3 of rank 1: was never started\n") == 0);

  const auto left_over = [](program&, rank_report&, rank_report& receiver) { receiver.leftover = 1; };
  CHECK(verdict_after(left_over) == "rank 1 was left with 1 messages, of 2 sent to it and 2 received\n");
}
