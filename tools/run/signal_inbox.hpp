// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "descriptor.hpp"

#include <csignal>
#include <vector>

namespace weft::run {

/// Receives the signals that weft-run acts on through a descriptor instead of handlers. One object for each process.
class signal_inbox {
 public:
  /// From here on these signals are blocked, and SIGPIPE is ignored (a closed output is seen when writing to it).
  signal_inbox();

  /// Becomes readable when a signal is there.
  [[nodiscard]] int descriptor_number() const noexcept { return source_.get(); }

  /// The signals that have come, each once, in the order of their numbers; empty if none.
  [[nodiscard]] std::vector<int> take();

  /// Gives a child, between fork and exec, the signal handling that weft-run was started with.
  void restore_in_child() const noexcept;

 private:
  sigset_t original_mask_;
  struct sigaction original_pipe_action_;
  descriptor source_;
};

}  // namespace weft::run
