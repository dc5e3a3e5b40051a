// SPDX-License-Identifier: Apache-2.0
// Ranks that are connected and have nothing to do cost nothing: no thread of theirs runs.
//
// Real time passes here, on purpose: that nothing happens can only be seen by waiting for a while, and whoever woke up
// meanwhile is counted by the kernel, so a slow machine makes no difference. WEFT_IDLE_SECONDS makes the wait longer.
// From about eight seconds on it meets Asio's timer descriptor, which a cancelled timer leaves armed: it wakes each
// loop once, when a deadline of the set-up that was kept would have passed, and from then on every five minutes.
#include "../support/spawned_program.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace {

using weft::test::spawned_program;
using seconds = std::chrono::duration<double>;

constexpr int rank_count = 4;
constexpr seconds usual_window{2};
// What the last messages still set off (reports to rank 0, ends of handshakes) is over long before.
constexpr std::chrono::milliseconds moment{250};
constexpr int most_moments = 40;

/// How often each thread of the ranks has been given a processor, by the path of its directory in /proc.
using switch_counts = std::map<std::string, long>;

long switches_of(const std::filesystem::path& thread) {
  std::ifstream status(thread / "status");
  long sum = 0;
  for (std::string line; std::getline(status, line);)
    if (line.find("ctxt_switches:") != std::string::npos) sum += std::stol(line.substr(line.find(':') + 1));
  return sum;
}

switch_counts switches_of(const std::vector<std::string>& processes) {
  switch_counts counts;
  for (const std::string& process : processes)
    for (const auto& thread : std::filesystem::directory_iterator("/proc/" + process + "/task"))
      counts[thread.path()] = switches_of(thread.path());
  return counts;
}

/// Names the threads that ran between two counts, one a line; empty if none did.
std::string threads_that_ran(const switch_counts& before, const switch_counts& after) {
  std::string names;
  for (const auto& [thread, count] : after) {
    const auto known = before.find(thread);
    const long times = count - (known == before.end() ? 0 : known->second);
    if (times != 0) names += thread + " ran " + std::to_string(times) + " times\n";
  }
  return names;
}

/// Whether a moment comes in which nothing runs, so that the window begins after the last of the work.
bool come_to_rest(const std::vector<std::string>& processes) {
  switch_counts before = switches_of(processes);
  for (int i = 0; i < most_moments; ++i) {
    std::this_thread::sleep_for(moment);
    const switch_counts now = switches_of(processes);
    if (now == before) return true;
    before = now;
  }
  return false;
}

seconds window() {
  const char* given = std::getenv("WEFT_IDLE_SECONDS");
  return given ? seconds(std::stod(given)) : usual_window;
}

/// The processes of all ranks, once each has said that it is idle.
std::vector<std::string> await_idle(spawned_program& job) {
  std::vector<std::string> processes;
  for (int rank = 0; rank < rank_count; ++rank) {
    const std::string line = job.read_line();
    const std::string mark = "] idle ";
    REQUIRE(line.find(mark) != std::string::npos);
    processes.push_back(line.substr(line.find(mark) + mark.size()));
  }
  return processes;
}

}  // namespace

TEST_CASE("no thread of four connected ranks wakes up while they have nothing to do") {
  spawned_program job({WEFT_RUN_PATH, "-n", std::to_string(rank_count), IDLE_RANK_PATH});
  const std::vector<std::string> processes = await_idle(job);
  CHECK_MESSAGE(come_to_rest(processes), "some thread never stops waking up");

  const switch_counts before = switches_of(processes);
  // A loop and a launch thread each: more than the four main threads are looked at.
  REQUIRE(before.size() >= 2 * rank_count);
  REQUIRE(std::ranges::all_of(before, [](const auto& thread) { return thread.second > 0; }));
  std::this_thread::sleep_for(window());
  CHECK(threads_that_ran(before, switches_of(processes)) == "");

  job.signal(SIGTERM);
  const auto ended = job.finish();
  CAPTURE(ended.output);
  CAPTURE(ended.errors);
  CHECK(ended.status == 0);
  CHECK(std::ranges::count(ended.output, '\n') == rank_count);
  CHECK(ended.output.find("received") == std::string::npos);
}
