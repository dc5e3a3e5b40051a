// SPDX-License-Identifier: Apache-2.0
#include "../support/spawned_program.hpp"

#include <doctest/doctest.h>

#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace {

using weft::test::ends;
using weft::test::spawned_program;
using words = std::vector<std::string>;

spawned_program weft_run(const words& arguments) {
  words command{WEFT_RUN_PATH};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return spawned_program(std::move(command));
}

/// weft-run with `options`, of ranks that run a shell script.
spawned_program weft_run_script(words options, const std::string& script) {
  for (const char* word : {"--", "/bin/sh", "-c"}) options.emplace_back(word);
  options.push_back(script);
  return weft_run(options);
}

words sorted_lines(const std::string& text) {
  words lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  return lines;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// What stands behind "[rank] ".
std::string after_prefix(const std::string& line) {
  return line.substr(line.find(' ') + 1);
}

/// Lets one rank wait for another, in a shell.
class named_pipe {
 public:
  named_pipe() {
    REQUIRE(mkdtemp(directory_.data()) != nullptr);
    REQUIRE(mkfifo(path().c_str(), 0600) == 0);
  }
  named_pipe(const named_pipe&) = delete;
  named_pipe& operator=(const named_pipe&) = delete;
  ~named_pipe() { std::filesystem::remove_all(directory_); }

  [[nodiscard]] std::string path() const { return directory_ + "/pipe"; }

 private:
  std::string directory_ = (std::filesystem::temp_directory_path() / "weft-run-test-XXXXXX").string();
};

TEST_CASE("lines of both streams carry the rank, and an unterminated last line gets its end") {
  const auto ended = weft_run_script({"-n", "2"}, "echo out $RANK; echo err $RANK >&2; printf open").finish();
  CHECK(ended.status == 0);
  CHECK(sorted_lines(ended.output) == words{"[0] open", "[0] out 0", "[1] open", "[1] out 1"});
  CHECK(sorted_lines(ended.errors) == words{"[0] err 0", "[1] err 1"});
  CHECK(ended.output.back() == '\n');
}

TEST_CASE("with --no-prefix the lines come as they are") {
  const auto ended = weft_run_script({"-n", "2", "--no-prefix"}, "echo $RANK").finish();
  CHECK(sorted_lines(ended.output) == words{"0", "1"});
}

TEST_CASE("lines of ranks that write at the same time stay whole") {
  const auto ended = weft_run_script({"-n", "4"},
                                     "i=0; while [ $i -lt 500 ]; do printf 'abc'; echo \"def $RANK\"; "
                                     "i=$((i+1)); done")
                         .finish();
  const words lines = sorted_lines(ended.output);
  CHECK(lines.size() == 2000);
  for (const char rank : {'0', '1', '2', '3'})
    CHECK(std::count(lines.begin(), lines.end(), std::string("[") + rank + "] abcdef " + rank) == 500);
}

TEST_CASE("a very long line comes in pieces, and none of it is lost") {
  const auto ended = weft_run_script({"-n", "1"}, "head -c 100000 /dev/zero | tr '\\0' x; echo").finish();
  CHECK(std::count(ended.output.begin(), ended.output.end(), 'x') == 100'000);
  const words lines = sorted_lines(ended.output);
  REQUIRE(lines.size() > 1);
  for (const std::string& line : lines) CHECK(line.starts_with("[0] x"));
}

TEST_CASE("each rank finds its place and the job's meeting point and key in its environment") {
  const std::string script =
      "echo $RANK $WORLD_SIZE $WEFT_LOCAL_RANK ${WEFT_TRANSPORT-none} "
      "$WEFT_RENDEZVOUS $WEFT_JOB_KEY";
  const words lines = sorted_lines(weft_run_script({"-n", "2"}, script).finish().output);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].starts_with("[0] 0 2 0 none unix:weft-"));
  CHECK(lines[1].starts_with("[1] 1 2 1 none unix:weft-"));
  const std::string meeting = lines[0].substr(lines[0].find("unix:"));
  CHECK(lines[1].ends_with(meeting));
  const std::string key = meeting.substr(meeting.find(' ') + 1);
  CHECK(key.size() == 64);
  CHECK(key.find_first_not_of("0123456789abcdef") == std::string::npos);

  const auto other = weft_run_script({"-n", "1"}, script).finish();
  CHECK_FALSE(contains(other.output, meeting.substr(0, meeting.find(' '))));
  CHECK_FALSE(contains(other.output, key));
}

TEST_CASE("--tcp, --rendezvous and a job key of the caller reach the ranks") {
  setenv("WEFT_JOB_KEY", "a key of ours", 1);
  const auto ended = weft_run_script({"-n", "1", "--tcp", "--rendezvous", "host:1"},
                                     "echo $WEFT_TRANSPORT $WEFT_RENDEZVOUS $WEFT_JOB_KEY")
                         .finish();
  unsetenv("WEFT_JOB_KEY");
  CHECK(ended.output == "[0] tcp host:1 a key of ours\n");
}

TEST_CASE("a rank that fails ends the others and their children, and gives its status") {
  const named_pipe others_are_up;
  auto job = weft_run_script({"-n", "2"}, "if [ $RANK = 1 ]; then read line < " + others_are_up.path() +
                                              "; exit 3; fi; sleep 1000 & echo $! $$; echo > " + others_are_up.path() +
                                              "; wait");
  const std::string pids = after_prefix(job.read_line());
  const auto ended = job.finish();
  CHECK(ended.status == 3);
  CHECK(ended.errors == "weft-run: rank 1 exited with status 3\n");
  CHECK(ends(pids.substr(0, pids.find(' '))));
  CHECK(ends(pids.substr(pids.find(' ') + 1)));
}

TEST_CASE("with --keep-going each rank that fails is reported, and the others go on; the first gives the status") {
  const named_pipe failure_was_reported;
  const std::string script =
      "[ $RANK = 1 ] && exit 3; read line < " + failure_was_reported.path() + "; echo still here; exit 4";
  spawned_program job({"/bin/sh", "-c", "exec " WEFT_RUN_PATH " -n 2 --keep-going /bin/sh -c \"$0\" 2>&1", script});
  CHECK(job.read_line() == "weft-run: rank 1 exited with status 3");
  std::ofstream(failure_was_reported.path()) << "go on" << std::endl;
  const auto ended = job.finish();
  CHECK(ended.status == 3);
  CHECK(ended.output == "[0] still here\nweft-run: rank 0 exited with status 4\n");
}

TEST_CASE("a rank that a signal kills is reported by the signal's name, with 128 + signal as the status") {
  const auto ended = weft_run_script({"-n", "2"}, "[ $RANK = 1 ] && kill -9 $$; exec sleep 1000").finish();
  CHECK(ended.status == 137);
  CHECK(contains(ended.errors, "weft-run: rank 1 was killed by signal 9 (Killed)\n"));
}

TEST_CASE("a rank that ignores SIGTERM is killed after the grace period") {
  const named_pipe other_is_up;
  const auto ended =
      weft_run_script({"-n", "2", "--grace", "0.2"}, "if [ $RANK = 1 ]; then read line < " + other_is_up.path() +
                                                         "; exit 4; fi; trap '' TERM; echo > " + other_is_up.path() +
                                                         "; while :; do sleep 1000; done")
          .finish();
  CHECK(ended.status == 4);
  CHECK(contains(ended.errors, "weft-run: rank 0 did not end in time after SIGTERM: killing it\n"));
}

TEST_CASE("children that a rank leaves behind end with the job") {
  auto job = weft_run_script({"-n", "1"}, "sleep 1000 & echo $!");
  const std::string pid = after_prefix(job.read_line());
  CHECK(job.finish().status == 0);
  CHECK(ends(pid));

  auto silent = weft_run_script({"-n", "1"}, "sleep 1000 > /dev/null 2>&1 & echo $!");
  const std::string silent_pid = after_prefix(silent.read_line());
  CHECK(silent.finish().status == 0);
  CHECK(ends(silent_pid));
}

TEST_CASE("signals are passed on to all ranks") {
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) {
    CAPTURE(number);
    auto job = weft_run_script({"-n", "2"}, "trap 'echo got; exit 0' " + std::to_string(number) +
                                                "; echo ready; while :; do sleep 1000 & wait; done");
    CHECK(after_prefix(job.read_line()) == "ready");
    CHECK(after_prefix(job.read_line()) == "ready");
    job.signal(number);
    const auto ended = job.finish();
    CHECK(ended.status == 0);
    CHECK(sorted_lines(ended.output) == words{"[0] got", "[1] got"});
  }
}

TEST_CASE("ranks that a passed on signal kills make it the status") {
  auto job = weft_run_script({"-n", "2"}, "echo ready; exec sleep 1000");
  CHECK(after_prefix(job.read_line()) == "ready");
  CHECK(after_prefix(job.read_line()) == "ready");
  job.signal(SIGTERM);
  CHECK(job.finish().status == 143);
}

TEST_CASE("ranks die with weft-run, even if it is killed") {
  auto job = weft_run_script({"-n", "2"}, "echo $$; exec sleep 1000");
  const std::string first = after_prefix(job.read_line());
  const std::string second = after_prefix(job.read_line());
  job.signal(SIGKILL);
  CHECK(job.finish().status == 137);
  CHECK(ends(first));
  CHECK(ends(second));
}

TEST_CASE("a program that cannot be started is named once, with a reason and what to do") {
  const auto missing = weft_run({"-n", "4", "no-such-program-here"}).finish();
  CHECK(missing.status == 127);
  CHECK(missing.errors ==
        "weft-run: cannot start 'no-such-program-here': No such file or directory (it is not in any directory of "
        "PATH; give a path, such as ./no-such-program-here)\n");
  CHECK(weft_run({"-n", "2", "/no/such/program"}).finish().status == 127);

  const auto directory = weft_run({"-n", "4", "/"}).finish();
  CHECK(directory.status == 126);
  CHECK(contains(directory.errors, "cannot start '/': Permission denied"));
}

TEST_CASE("a wrong command line exits with 2 and starts nothing") {
  const auto ended = weft_run({"-n", "0", "/bin/echo", "started"}).finish();
  CHECK(ended.status == 2);
  CHECK(ended.output.empty());
  CHECK(contains(ended.errors, "-n takes a number of ranks from 1 to"));
}

TEST_CASE("--help and --version print to standard output") {
  CHECK(contains(weft_run({"--help"}).finish().output, "usage: weft-run -n N"));
  CHECK(weft_run({"--version"}).finish().output.starts_with("weft-run "));
}

TEST_CASE("output that nobody reads any more ends the job") {
  auto job = weft_run({"-n", "1", "/bin/sh", "-c", "exec " WEFT_RUN_PATH " -n 2 yes | head -n 1"});
  CHECK(job.read_line().ends_with("] y"));
  CHECK(contains(job.finish().errors, "cannot print the output of the ranks: Broken pipe"));
}

}  // namespace
