// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "arguments.hpp"
#include "output_stream.hpp"
#include "rank_exit.hpp"
#include "rank_process.hpp"
#include "signal_inbox.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace weft::run {

/// Runs the ranks of a job from their start to the end of the last: prints their output, passes signals on, and ends
/// all of them when one fails, unless they are to keep going.
class supervisor {
 public:
  explicit supervisor(job_options options);

  /// The exit status of the job. Throws `start_error` or std::system_error if a rank cannot be started; no rank is
  /// left.
  [[nodiscard]] int run();

 private:
  using clock = std::chrono::steady_clock;

  /// Only ever moves forward.
  enum class phase {
    running,
    ending,  // SIGTERM was sent: a rank failed, nobody reads the output, or all have exited and left children behind
    killed,  // SIGKILL was sent: the grace period is over
  };

  struct supervised_rank {
    rank_process process;
    output_stream output;
    output_stream errors;
    std::optional<rank_exit> ended;
  };

  void start_ranks();
  [[nodiscard]] bool is_done() const;
  [[nodiscard]] bool all_exited() const;
  void wait_for_event();
  [[nodiscard]] int milliseconds_to_deadline() const;
  void handle_signals();
  void handle_exits();
  void handle_exit(int rank, supervised_rank& ended);
  void handle_output_failure();
  void advance_phase();
  void note_failure(int status, const std::string& why);
  void begin_ending();
  void kill_all();
  void signal_all(int number);
  void report(const std::string& what);

  template <class Visitor>
  void for_each_stream(Visitor visit);

  job_options options_;
  signal_inbox signals_;
  printer to_output_;
  printer to_errors_;
  std::vector<supervised_rank> ranks_;
  phase phase_ = phase::running;
  clock::time_point deadline_;
  int status_ = 0;
};

}  // namespace weft::run
