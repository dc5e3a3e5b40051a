// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace serve {

/// The largest text, in bytes: with `capacity` of them at each worker, it bounds what the ranks hold.
inline constexpr std::uint64_t largest_text = std::uint64_t{1} << 20;

/// The command line: --port PORT [--deadline MS] [--capacity N].
struct options {
  std::uint16_t port = 8080;                   ///< 0: any that is free
  std::chrono::milliseconds deadline{10'000};  ///< of a request, from its arrival to the end of its answer
  int capacity = 8;                            ///< requests that one worker has at a time
};

/// Throws std::invalid_argument, which says what was given and what can be.
[[nodiscard]] options parse_options(const std::vector<std::string>& words);

/// Of the target of a POST to /count.
struct count_query {
  std::uint32_t pace_ms = 0;
  std::chrono::milliseconds deadline{0};  ///< 0: the server's
};

/// Reads "pace=MS&deadline=MS", each of which may be missing; throws std::invalid_argument.
[[nodiscard]] count_query parse_query(const std::string& text);

}  // namespace serve
