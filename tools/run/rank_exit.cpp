// SPDX-License-Identifier: Apache-2.0
#include "rank_exit.hpp"

#include <cerrno>
#include <cstring>

namespace weft::run {
namespace {

bool is_missing(int error) {
  return error == ENOENT || error == ENOTDIR;
}

std::string advice(const std::string& program, int error) {
  if (is_missing(error) && program.find('/') == std::string::npos)
    return "it is not in any directory of PATH; give a path, such as ./" + program;
  if (is_missing(error)) return "check the path, and for a script the interpreter that its first line names";
  if (error == EACCES) return "it has to be a file that you may execute; chmod +x makes one so";
  if (error == ENOEXEC) return "it is no program of this machine's kind";
  if (error == E2BIG) return "its arguments and environment are too long";
  return "run it by itself to see whether it starts at all";
}

}  // namespace

int exit_status(const rank_exit& ended) noexcept {
  return ended.by_signal ? 128 + ended.number : ended.number;
}

std::string describe(int rank, const rank_exit& ended) {
  const std::string who = "rank " + std::to_string(rank);
  const std::string number = std::to_string(ended.number);
  if (!ended.by_signal) return who + " exited with status " + number;
  return who + " was killed by signal " + number + " (" + strsignal(ended.number) + ")";
}

start_error::start_error(const std::string& program, int error)
    : std::runtime_error("cannot start '" + program + "': " + std::strerror(error) + " (" + advice(program, error) +
                         ")"),
      status_(is_missing(error) ? 127 : 126) {}

}  // namespace weft::run
