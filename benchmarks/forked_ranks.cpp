// SPDX-License-Identifier: Apache-2.0
#include "forked_ranks.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include <cerrno>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace weft::bench {
namespace {

/// The children that have not been waited for; whoever is left at the end is killed.
class child_processes {
 public:
  child_processes() = default;
  child_processes(const child_processes&) = delete;
  child_processes& operator=(const child_processes&) = delete;
  ~child_processes() { kill_all(); }

  void add(pid_t child) { running_.push_back(child); }
  [[nodiscard]] bool empty() const noexcept { return running_.empty(); }

  /// The exit status of the next child that ends; that of a signal is 128 and its number, as shells have it.
  int wait_for_one() {
    int status = 0;
    pid_t ended = -1;
    do {
      ended = waitpid(-1, &status, 0);
    } while (ended < 0 && errno == EINTR);
    if (ended < 0) throw std::system_error(errno, std::generic_category(), "waiting for a rank");
    std::erase(running_, ended);
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    std::cerr << "weft-bench: a rank was ended by signal " + std::to_string(WTERMSIG(status)) + '\n';
    return 128 + WTERMSIG(status);
  }

 private:
  void kill_all() noexcept {
    for (const pid_t child : running_) kill(child, SIGKILL);
    for (const pid_t child : running_) waitpid(child, nullptr, 0);
  }

  std::vector<pid_t> running_;
};

/// A rank does not outlive its parent, however that ends.
void die_with(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // it had ended before the request took effect
}

}  // namespace

int run_forked_ranks(int ranks, const rank_main& body) {
  const pid_t parent = getpid();
  child_processes children;
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t child = fork();
    if (child < 0) throw std::system_error(errno, std::generic_category(), "starting rank " + std::to_string(rank));
    if (child == 0) {
      die_with(parent);
      std::exit(body(rank));
    }
    children.add(child);
  }
  while (!children.empty())
    if (const int status = children.wait_for_one(); status != 0) return status;
  return 0;
}

}  // namespace weft::bench
