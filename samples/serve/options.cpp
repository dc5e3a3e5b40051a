// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace serve {
namespace {

constexpr std::uint32_t longest_ms = 3'600'000;
constexpr std::uint32_t most_capacity = 1024;

std::uint32_t number(const std::string& name, const std::string& text, std::uint32_t least, std::uint32_t most) {
  std::uint32_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && rest == end && value >= least && value <= most) return value;
  throw std::invalid_argument(name + " takes a number from " + std::to_string(least) + " to " + std::to_string(most) +
                              ", not '" + text + "'");
}

void read_field(count_query& query, const std::string& field) {
  const std::size_t equals = field.find('=');
  const std::string name = field.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : field.substr(equals + 1);
  if (name == "pace")
    query.pace_ms = number(name, value, 0, longest_ms);
  else if (name == "deadline")
    query.deadline = std::chrono::milliseconds(number(name, value, 1, longest_ms));
  else
    throw std::invalid_argument("unknown field '" + name + "'; known are pace and deadline");
}

}  // namespace

options parse_options(const std::vector<std::string>& words) {
  options read;
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const std::string& name = words[i];
    if (name != "--port" && name != "--deadline" && name != "--capacity")
      throw std::invalid_argument("unknown option '" + name + "'; known are --port, --deadline and --capacity");
    if (i + 1 == words.size()) throw std::invalid_argument(name + " needs a number after it");
    if (name == "--port")
      read.port = static_cast<std::uint16_t>(number(name, words[i + 1], 0, 65'535));
    else if (name == "--deadline")
      read.deadline = std::chrono::milliseconds(number(name, words[i + 1], 1, longest_ms));
    else
      read.capacity = static_cast<int>(number(name, words[i + 1], 1, most_capacity));
  }
  return read;
}

count_query parse_query(const std::string& text) {
  count_query query;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('&', begin), text.size());
    read_field(query, text.substr(begin, end - begin));
    begin = end + 1;
  }
  return query;
}

}  // namespace serve
