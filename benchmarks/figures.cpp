// SPDX-License-Identifier: Apache-2.0
#include "figures.hpp"

#include <weft/engine/version.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::bench {
namespace {

/// The field's name, its value as JSON has it, and whether that is text.
struct field {
  std::string_view name;
  std::string value;
  bool is_text = false;
};

std::string decimal(double value, int digits) {
  std::array<char, 64> text{};
  const int length = std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return {text.data(), static_cast<std::size_t>(length)};
}

std::string latency_field(const figures& measured, double latency_figures::*which) {
  return measured.latency ? decimal(*measured.latency.*which, 3) : "null";
}

// Names and order are read by other programs: fields may be added at the end, and none renamed or removed.
std::vector<field> fields_of(const figures& measured) {
  return {
      {"scenario", measured.scenario, true},
      {"route", measured.route, true},
      {"transport", measured.transport, true},
      {"ranks", std::to_string(measured.ranks)},
      {"size", std::to_string(measured.size)},
      {"in_flight", std::to_string(measured.in_flight)},
      {"messages", std::to_string(measured.messages)},
      {"seconds", decimal(measured.seconds, 6)},
      {"p50_us", latency_field(measured, &latency_figures::p50_us)},
      {"p99_us", latency_field(measured, &latency_figures::p99_us)},
      {"max_us", latency_field(measured, &latency_figures::max_us)},
      {"messages_per_s", decimal(measured.messages_per_s(), 1)},
      {"gb_per_s", decimal(measured.gb_per_s(), 6)},
      {"cpu_us_per_message", decimal(measured.cpu_us_per_message, 3)},
      {"version", version_text(), true},
      {"device", measured.device, true},
  };
}

std::string padded(std::string_view text, std::size_t width) {
  return std::string(width - text.size(), ' ') + std::string(text);
}

}  // namespace

std::string to_json(const figures& measured) {
  std::string line;
  for (const field& each : fields_of(measured)) {
    const std::string_view quote = each.is_text ? "\"" : "";
    line += line.empty() ? "{" : ",";
    line.append("\"").append(each.name).append("\":").append(quote).append(each.value).append(quote);
  }
  return line + "}\n";
}

std::string to_table(const figures& measured) {
  std::string headings;
  std::string values;
  for (const field& each : fields_of(measured)) {
    if (each.name == "version") continue;
    const std::string_view value = each.value == "null" ? "-" : std::string_view(each.value);
    const std::size_t width = std::max(each.name.size(), value.size());
    const std::string_view gap = headings.empty() ? "" : "  ";
    headings.append(gap).append(padded(each.name, width));
    values.append(gap).append(padded(value, width));
  }
  return headings + "\n" + values + "\n";
}

std::string version_text() {
  return std::to_string(version_major) + "." + std::to_string(version_minor) + "." + std::to_string(version_patch);
}

}  // namespace weft::bench
