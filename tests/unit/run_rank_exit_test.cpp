// SPDX-License-Identifier: Apache-2.0
#include "rank_exit.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <csignal>
#include <string>

namespace {

using namespace weft::run;

TEST_CASE("an exit is described by its status or its signal, and gives a shell's status") {
  const rank_exit failed{.by_signal = false, .number = 3};
  CHECK(describe(2, failed) == "rank 2 exited with status 3");
  CHECK(exit_status(failed) == 3);
  const rank_exit killed{.by_signal = true, .number = SIGKILL};
  CHECK(describe(0, killed) == "rank 0 was killed by signal 9 (Killed)");
  CHECK(exit_status(killed) == 137);
}

TEST_CASE("only an exit with status zero is no failure") {
  CHECK_FALSE(rank_exit{.by_signal = false, .number = 0}.is_failure());
  CHECK(rank_exit{.by_signal = false, .number = 1}.is_failure());
  CHECK(rank_exit{.by_signal = true, .number = SIGTERM}.is_failure());
}

TEST_CASE("a program that is not there gives 127, one that cannot run 126, each with what to do") {
  const start_error missing("prog", ENOENT);
  CHECK(missing.status() == 127);
  CHECK(std::string(missing.what()) ==
        "cannot start 'prog': No such file or directory (it is not in any directory of PATH; give a path, such as "
        "./prog)");
  CHECK(start_error("/a/prog", ENOENT).status() == 127);
  CHECK(start_error("/a/prog", ENOTDIR).status() == 127);
  const start_error denied("/a/prog", EACCES);
  CHECK(denied.status() == 126);
  CHECK(std::string(denied.what()).find("chmod +x") != std::string::npos);
}

}  // namespace
