// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace weft::run {

/// How a rank ended.
struct rank_exit {
  bool by_signal = false;
  int number = 0;  // the exit status, or the signal

  [[nodiscard]] bool is_failure() const noexcept { return by_signal || number != 0; }
};

/// What weft-run exits with for it, as a shell does: the status, or 128 + the signal.
[[nodiscard]] int exit_status(const rank_exit& ended) noexcept;

/// "rank 2 exited with status 3", "rank 2 was killed by signal 9 (Killed)".
[[nodiscard]] std::string describe(int rank, const rank_exit& ended);

/// The program could not be started.
class start_error : public std::runtime_error {
 public:
  /// `error` is the errno of exec.
  start_error(const std::string& program, int error);

  /// As in a shell: 127 where there is no such program, 126 where there is one that cannot run.
  [[nodiscard]] int status() const noexcept { return status_; }

 private:
  int status_;
};

}  // namespace weft::run
