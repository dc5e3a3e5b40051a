// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>

namespace weft::simulation {
namespace {

template <class Number>
Number number(std::string_view option, std::string_view text, Number least, Number most) {
  Number value{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem == std::errc{} && end == text.data() + text.size() && value >= least && value <= most) return value;
  throw std::invalid_argument(std::string(option) + " takes a number from " + std::to_string(least) + " to " +
                              std::to_string(most) + ", not \"" + std::string(text) + "\"");
}

void parse_seeds(std::string_view text, arguments& into) {
  constexpr auto most = std::numeric_limits<std::uint32_t>::max();
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos)
    throw std::invalid_argument("--seeds takes FIRST..END, not \"" + std::string(text) + "\"");
  into.first_seed = number<std::uint32_t>("--seeds", text.substr(0, dots), 0, most);
  into.end_of_seeds = number<std::uint32_t>("--seeds", text.substr(dots + 2), into.first_seed, most);
}

protocol::mutation parse_mutant(std::string_view text) {
  const auto found = std::find_if(mutants.begin(), mutants.end(), [=](const auto& one) { return one.first == text; });
  if (found != mutants.end()) return found->second;
  throw std::invalid_argument("there is no mutant \"" + std::string(text) + "\"; see --list-mutants");
}

void parse_without(std::string_view text, std::set<int>& into) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    into.insert(number<int>("--without", text.substr(0, end), 0, std::numeric_limits<int>::max()));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

bool parse_flag(std::string_view option, arguments& into) {
  if (option == "--trace") return into.trace = true;
  if (option == "--list-mutants") return into.lists_mutants = true;
  if (option == "--check-mutants") return into.checks_mutants = true;
  if (option == "--help") return into.wants_help = true;
  return false;
}

void parse_value(std::string_view option, std::string_view value, arguments& into) {
  constexpr std::size_t many = 1'000;
  if (option == "--seeds") return parse_seeds(value, into);
  if (option == "--without") return parse_without(value, into.without);
  if (option == "--mutant")
    into.mutant = parse_mutant(value);
  else if (option == "--ranks")
    into.ranks = number(option, value, 2, 16);
  else if (option == "--messages")
    into.messages = number(option, value, 1, 100'000);
  else if (option == "--residency")
    into.residency = number<std::size_t>(option, value, 1, many);
  else if (option == "--pair-budget")
    into.pair_budget = number<std::size_t>(option, value, 0, many);
  else
    throw std::invalid_argument("unknown option " + std::string(option));
}

}  // namespace

std::string_view name_of(protocol::mutation which) {
  return std::find_if(mutants.begin(), mutants.end(), [=](const auto& one) { return one.second == which; })->first;
}

arguments parse_arguments(std::span<const char* const> words) {
  arguments parsed;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view option = words[i];
    if (parse_flag(option, parsed)) continue;
    if (i + 1 == words.size()) throw std::invalid_argument(std::string(option) + " is unknown, or lacks its value");
    parse_value(option, words[++i], parsed);
  }
  return parsed;
}

setting setting_for(std::uint32_t seed, const arguments& given) {
  // Of its own, so that what is given does not change what the seed makes of the rest.
  std::mt19937 random(seed ^ 0x9e3779b9U);
  const auto below = [&random](std::size_t limit) { return static_cast<std::size_t>(random() % limit); };
  setting how{.seed = seed};
  const std::size_t size = below(12);
  how.ranks = given.ranks.value_or(size == 0 ? 16 : 2 + static_cast<int>(size % 7));
  how.messages = given.messages.value_or(static_cast<int>(5 + below(12) * static_cast<std::size_t>(how.ranks)));
  how.residency = given.residency.value_or(1 + below(4));
  how.pair_budget = given.pair_budget.value_or(below(2) == 0 ? 1 + below(3) : 16);
  how.eviction_patience = below(2) == 0 ? 0 : below(20);
  how.set_up_synchronizes = below(2) == 0;
  how.groups_get_stuck = below(5) == 0;
  return how;
}

}  // namespace weft::simulation
