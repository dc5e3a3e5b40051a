// SPDX-License-Identifier: Apache-2.0
#include "signal_inbox.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace weft::run {

signal_inbox::signal_inbox() : original_mask_(), original_pipe_action_() {
  struct sigaction action {};
  action.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &action, &original_pipe_action_);
  // Where the parent ignores SIGCHLD, so would this process, and could not learn how its ranks ended.
  action.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &action, nullptr);

  sigset_t handled;
  sigemptyset(&handled);
  for (const int number : {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) sigaddset(&handled, number);
  sigprocmask(SIG_BLOCK, &handled, &original_mask_);
  source_ = descriptor(signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!source_.is_open()) throw std::system_error(errno, std::generic_category(), "cannot receive signals");
}

std::vector<int> signal_inbox::take() {
  std::vector<int> numbers;
  signalfd_siginfo info{};
  while (::read(source_.get(), &info, sizeof info) == sizeof info) numbers.push_back(static_cast<int>(info.ssi_signo));
  return numbers;
}

void signal_inbox::restore_in_child() const noexcept {
  sigaction(SIGPIPE, &original_pipe_action_, nullptr);
  sigprocmask(SIG_SETMASK, &original_mask_, nullptr);
}

}  // namespace weft::run
