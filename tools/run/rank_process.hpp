// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "descriptor.hpp"
#include "rank_exit.hpp"
#include "signal_inbox.hpp"

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weft::run {

/// A running rank, leader of a process group of its own. It stays unreaped until this object is destroyed, so that its
/// number, which is also that of the group, cannot be given to anyone else in the meantime. The destructor kills what
/// is left of the group.
class rank_process {
 public:
  /// Throws `start_error` if the program cannot be executed, std::system_error if the machine has no room for it.
  rank_process(const std::vector<std::string>& command, const std::vector<std::string>& environment,
               const signal_inbox& signals);
  rank_process(rank_process&& other) noexcept
      : pid_(std::exchange(other.pid_, 0)), output_(std::move(other.output_)), errors_(std::move(other.errors_)) {}
  rank_process& operator=(rank_process&&) = delete;
  ~rank_process();

  /// The ends to read its standard output and standard error from, non-blocking. Each can be taken once.
  [[nodiscard]] descriptor take_output() noexcept { return std::move(output_); }
  [[nodiscard]] descriptor take_errors() noexcept { return std::move(errors_); }

  /// Sends a signal to the rank and to those of its children that are still in its group.
  void signal(int number) const noexcept;

  /// How the rank ended, if it has. Its children may still run.
  [[nodiscard]] std::optional<rank_exit> poll_exit() const noexcept;

 private:
  pid_t pid_ = 0;
  descriptor output_;
  descriptor errors_;
};

}  // namespace weft::run
