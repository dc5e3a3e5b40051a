// SPDX-License-Identifier: Apache-2.0
#include "figures.hpp"

#include <weft/engine/version.hpp>

#include <array>
#include <cstdio>
#include <string_view>
#include <vector>

namespace weft::bench {
namespace {

/// The field's name, its value as JSON has it, and whether that is text.
struct field {
  std::string name;
  std::string value;
  bool is_text = false;
};

std::string decimal(double value, int digits) {
  std::array<char, 64> text{};
  const int length = std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return {text.data(), static_cast<std::size_t>(length)};
}

std::string decimal(const std::optional<double>& value, int digits) {
  return value ? decimal(*value, digits) : "null";
}

/// p50, p99 and max.
void add_latency(std::vector<field>& fields, std::string_view side, const std::optional<latency_figures>& seen) {
  const auto add = [&](std::string_view which, double latency_figures::*value) {
    fields.push_back({std::string(side).append(which), seen ? decimal(*seen.*value, 3) : "null"});
  };
  add("p50_us", &latency_figures::p50_us);
  add("p99_us", &latency_figures::p99_us);
  add("max_us", &latency_figures::max_us);
}

// Names and order are read by other programs: fields may be added at the end, and none renamed or removed.
std::vector<field> fields_of(const figures& measured) {
  std::vector<field> fields{
      {"scenario", measured.scenario, true},           {"route", measured.route, true},
      {"transport", measured.transport, true},         {"ranks", std::to_string(measured.ranks)},
      {"size", std::to_string(measured.size)},         {"in_flight", std::to_string(measured.in_flight)},
      {"messages", std::to_string(measured.messages)}, {"seconds", decimal(measured.seconds, 6)},
  };
  const auto add = [&](const std::vector<field>& more) { fields.insert(fields.end(), more.begin(), more.end()); };
  add_latency(fields, "", measured.latency);
  add({
      {"messages_per_s", decimal(measured.messages_per_s(), 1)},
      {"gb_per_s", decimal(measured.gb_per_s(), 6)},
      {"cpu_us_per_message", decimal(measured.per_message(measured.leading_cpu_us + measured.other_cpu_us), 3)},
      {"version", version_text(), true},
      {"device", measured.device, true},
      {"cpu_us_leading", decimal(measured.per_message(measured.leading_cpu_us), 3)},
      {"cpu_us_other", decimal(measured.per_message(measured.other_cpu_us), 3)},
  });
  add_latency(fields, "leading_", measured.leading_latency);
  add_latency(fields, "other_", measured.other_latency);
  add({
      {"allocations_per_message", decimal(measured.per_message(static_cast<double>(measured.allocations)), 3)},
      {"baseline_messages_per_s", decimal(measured.baseline_messages_per_s, 1)},
      {"ratio", decimal(measured.ratio(), 3)},
  });
  add_latency(fields, "baseline_", measured.baseline_latency);
  add({
      {"hold_us", decimal(measured.found.hold_us, 3)},
      {"bytes_per_peer", decimal(measured.found.bytes_per_peer, 0)},
      {"idle_cpu_us_per_s", decimal(measured.found.idle_cpu_us_per_s, 1)},
      {"startup_s", decimal(measured.startup_s, 6)},
      {"join_s", decimal(measured.join_s, 6)},
  });
  return fields;
}

/// Of a column for all names.
constexpr std::size_t name_width = 25;

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
  std::string lines;
  for (const field& each : fields_of(measured)) {
    if (each.name == "version" || each.value == "null") continue;
    lines += each.name + std::string(name_width - each.name.size(), ' ') + each.value + "\n";
  }
  return lines;
}

std::string version_text() {
  return std::to_string(version_major) + "." + std::to_string(version_minor) + "." + std::to_string(version_patch);
}

}  // namespace weft::bench
