// SPDX-License-Identifier: Apache-2.0
#include "rank_process.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>

namespace weft::run {
namespace {

/// The errno of the call that has just failed, with what to do about it.
[[noreturn]] void throw_no_room(const char* what) {
  throw std::system_error(errno, std::generic_category(),
                          std::string(what) + " (start fewer ranks, or raise the limits that ulimit -n and -u show)");
}

struct pipe_ends {
  descriptor read;
  descriptor write;
};

/// Closed on exec: a rank that held the ends of another would keep them from ever being at their end.
pipe_ends make_pipe() {
  int numbers[2];
  if (pipe2(numbers, O_CLOEXEC) != 0) throw_no_room("cannot make a pipe for a rank");
  return {descriptor(numbers[0]), descriptor(numbers[1])};
}

void make_non_blocking(const descriptor& source) {
  fcntl(source.get(), F_SETFL, fcntl(source.get(), F_GETFL) | O_NONBLOCK);
}

std::vector<char*> null_terminated(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  // exec takes pointers to mutable characters for old programs' sake, and writes to none.
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

/// What the child needs, made before the fork: between fork and exec nothing is allocated.
struct child_plan {
  char* const* command;
  char* const* environment;
  pid_t parent;
  int input;
  int output;
  int errors;
  int report;
  const signal_inbox* signals;
};

[[noreturn]] void run_child(const child_plan& plan) {
  setpgid(0, 0);
  // Told when the thread that forked dies: weft-run has only one. It may have died before this call.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != plan.parent) _exit(1);
  if (dup2(plan.input, STDIN_FILENO) >= 0 && dup2(plan.output, STDOUT_FILENO) >= 0 &&
      dup2(plan.errors, STDERR_FILENO) >= 0) {
    plan.signals->restore_in_child();
    execvpe(plan.command[0], plan.command, plan.environment);
  }
  const int error = errno;
  // Nobody is left to hear of it if this fails too.
  [[maybe_unused]] const auto written = write(plan.report, &error, sizeof error);
  _exit(127);
}

/// Waits for the exec. Zero if it succeeded: that closed the pipe without a word.
int read_exec_error(const descriptor& report) {
  int error = 0;
  ssize_t got = 0;
  do {
    got = read(report.get(), &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  return got == sizeof error ? error : 0;
}

}  // namespace

rank_process::rank_process(const std::vector<std::string>& command, const std::vector<std::string>& environment,
                           const signal_inbox& signals) {
  const std::vector<char*> words = null_terminated(command);
  const std::vector<char*> variables = null_terminated(environment);
  const descriptor nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
  pipe_ends output = make_pipe();
  pipe_ends errors = make_pipe();
  pipe_ends report = make_pipe();
  const child_plan plan{words.data(),       variables.data(),   getpid(),           nothing.get(),
                        output.write.get(), errors.write.get(), report.write.get(), &signals};

  pid_ = fork();
  if (pid_ < 0) throw_no_room("cannot start a process for a rank");
  if (pid_ == 0) run_child(plan);
  report.write.close();
  if (const int error = read_exec_error(report.read); error != 0) {
    waitpid(pid_, nullptr, 0);
    throw start_error(command.front(), error);
  }
  make_non_blocking(output.read);
  make_non_blocking(errors.read);
  output_ = std::move(output.read);
  errors_ = std::move(errors.read);
}

rank_process::~rank_process() {
  if (pid_ == 0) return;
  signal(SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void rank_process::signal(int number) const noexcept {
  kill(-pid_, number);
}

std::optional<rank_exit> rank_process::poll_exit() const noexcept {
  siginfo_t info{};
  // WNOWAIT leaves the process unreaped.
  if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0)
    return std::nullopt;
  return rank_exit{.by_signal = info.si_code != CLD_EXITED, .number = info.si_status};
}

}  // namespace weft::run
