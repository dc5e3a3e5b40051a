// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft::run {

/// What all ranks of a job have in common.
struct job_settings {
  int world_size = 1;
  std::string rendezvous;
  std::string job_key;
  bool tcp = false;
};

/// The settings for the ranks of one machine in `NAME=value` form: those of `inherited`, with the variables of the job
/// in place of any of the same name.
[[nodiscard]] std::vector<std::string> rank_environment(const std::vector<std::string>& inherited,
                                                        const job_settings& job, int rank);

/// A name that no other job has: an abstract Unix socket has no file that a crash could leave behind.
[[nodiscard]] std::string fresh_rendezvous();

/// 256 random bits as 64 hexadecimal digits.
[[nodiscard]] std::string fresh_job_key();

}  // namespace weft::run
