// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workload.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace weft::bench {

struct latency_figures {
  double p50_us = 0;
  double p99_us = 0;
  double max_us = 0;
};

/// One measurement, as it is printed.
struct figures {
  std::string scenario;
  std::string route;
  std::string transport;
  std::string device;  ///< what carries the routes device and pair
  int ranks = 0;
  std::size_t size = 0;
  std::size_t in_flight = 0;
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;  ///< of all messages
  double seconds = 0;
  std::optional<latency_figures> latency;  ///< of both sides together
  std::optional<latency_figures> leading_latency;
  std::optional<latency_figures> other_latency;
  double leading_cpu_us = 0;  ///< user and system time of all leading ranks
  double other_cpu_us = 0;
  std::uint64_t allocations = 0;
  std::optional<double> baseline_messages_per_s;
  std::optional<latency_figures> baseline_latency;
  findings found;
  double startup_s = 0;
  double join_s = 0;

  [[nodiscard]] double messages_per_s() const { return static_cast<double>(messages) / seconds; }
  [[nodiscard]] double gb_per_s() const { return static_cast<double>(bytes) / seconds / 1e9; }
  [[nodiscard]] double per_message(double all) const { return all / static_cast<double>(messages); }
  /// Above one: faster than the baseline.
  [[nodiscard]] std::optional<double> ratio() const {
    return baseline_messages_per_s ? std::optional(messages_per_s() / *baseline_messages_per_s) : std::nullopt;
  }
};

/// One line; every scenario has all the fields, null where one does not apply.
[[nodiscard]] std::string to_json(const figures& measured);

/// A line for each field that applies.
[[nodiscard]] std::string to_table(const figures& measured);

/// This library's version, as in "1.2.3".
[[nodiscard]] std::string version_text();

}  // namespace weft::bench
