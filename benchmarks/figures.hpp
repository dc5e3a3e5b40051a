// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "arguments.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace weft::bench {

/// Half of a round trip.
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
  double seconds = 0;
  std::optional<latency_figures> latency;  ///< of the scenarios that wait for each answer
  double cpu_us_per_message = 0;           ///< user and system time of all ranks

  [[nodiscard]] double messages_per_s() const { return static_cast<double>(messages) / seconds; }
  [[nodiscard]] double gb_per_s() const { return messages_per_s() * static_cast<double>(size) / 1e9; }
};

/// One line; every scenario has all the fields, null where one does not apply.
[[nodiscard]] std::string to_json(const figures& measured);

/// A line of headings and a line of values.
[[nodiscard]] std::string to_table(const figures& measured);

/// This library's version, as in "1.2.3".
[[nodiscard]] std::string version_text();

}  // namespace weft::bench
