// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace weft::run {

/// One machine rarely has more hardware threads, and each rank takes two descriptors of weft-run.
inline constexpr int max_ranks = 1024;
/// Between SIGTERM and SIGKILL: long enough to write a checkpoint's last block, short enough to wait for.
inline constexpr std::chrono::milliseconds default_grace{5'000};
inline constexpr std::chrono::seconds max_grace{86'400};

/// What the command line asks for.
struct job_options {
  int ranks = 0;
  bool prefix = true;
  bool tcp = false;
  bool keep_going = false;
  std::chrono::milliseconds grace = default_grace;
  std::string rendezvous;  // empty: one of weft-run's own
  std::vector<std::string> command;
};

struct help_request {};
struct version_request {};
struct usage_error {
  std::string message;
};

using parsed_arguments = std::variant<job_options, help_request, version_request, usage_error>;

/// `arguments` are those after the program's name.
[[nodiscard]] parsed_arguments parse_arguments(const std::vector<std::string_view>& arguments);

[[nodiscard]] std::string help_text();

}  // namespace weft::run
