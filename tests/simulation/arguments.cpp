// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <random>
#include <set>
#include <stdexcept>
#include <string>

namespace weft::simulation {
namespace {

/// A program of so many takes seconds, and its shrinking minutes.
constexpr int most_messages = 10'000;

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
  const auto refuse = [&](const char* why) {
    throw std::invalid_argument(std::string("--seeds ") + why + ", not \"" + std::string(text) + '"');
  };
  if (dots == std::string_view::npos) refuse("takes FIRST..END, as in 17..18 for seed 17 alone");
  into.first_seed = number<std::uint32_t>("--seeds", text.substr(0, dots), 0, most);
  into.end_of_seeds = number<std::uint32_t>("--seeds", text.substr(dots + 2), 0, most);
  if (into.end_of_seeds <= into.first_seed) refuse("A..B means A to B-1, so B has to be greater than A");
}

protocol::mutation parse_mutant(std::string_view text) {
  const auto found = std::find_if(mutants.begin(), mutants.end(), [=](const auto& one) { return one.first == text; });
  if (found != mutants.end()) return found->second;
  throw std::invalid_argument("there is no mutant \"" + std::string(text) + "\"; see --list-mutants");
}

void parse_messages(std::string_view text, std::set<int>& into) {
  const auto message = [](std::string_view one) { return number<int>("--without", one, 0, 999'999); };
  const std::size_t dash = std::min(text.find('-'), text.size());
  const int first = message(text.substr(0, dash));
  const int last = dash == text.size() ? first : message(text.substr(dash + 1));
  if (last < first) throw std::invalid_argument("--without takes a range upwards, not \"" + std::string(text) + '"');
  for (int one = first; one <= last; ++one) into.insert(one);
}

void parse_omission(std::string_view text, omissions& into) {
  if (!text.empty() && text[0] >= '0' && text[0] <= '9') return parse_messages(text, into.messages);
  const auto found = std::find_if(features.begin(), features.end(), [=](const auto& one) { return one.first == text; });
  if (found != features.end()) return void(into.features.insert(found->second));
  std::string known;
  for (const auto& [name, one] : features) known += ", " + std::string(name);
  throw std::invalid_argument("--without takes messages, as 3 or 5-17, and features" + known + "; not \"" +
                              std::string(text) + '"');
}

void parse_without(std::string_view text, omissions& into) {
  for (std::size_t comma = text.find(','); comma != std::string_view::npos; comma = text.find(',')) {
    parse_omission(text.substr(0, comma), into);
    text.remove_prefix(comma + 1);
  }
  parse_omission(text, into);
}

void check_purpose(const arguments& given) {
  const int purposes = int{given.mutant != protocol::mutation::none} + given.checks_mutants + given.lists_mutants;
  if (purposes > 1)
    throw std::invalid_argument("--mutant, --check-mutants and --list-mutants exclude each other: give one of them");
}

bool parse_flag(std::string_view option, arguments& into) {
  if (option == "--trace") return into.trace = true;
  if (option == "--list-mutants") return into.lists_mutants = true;
  if (option == "--check-mutants") return into.checks_mutants = true;
  if (option == "--help") return into.wants_help = true;
  return false;
}

bool takes_value(std::string_view option) {
  constexpr std::array names{"--seeds",    "--without",   "--mutant", "--ranks",
                             "--messages", "--residency", "--delays", "--pair-budget"};
  return std::find(names.begin(), names.end(), option) != names.end();
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
    into.messages = number(option, value, 1, most_messages);
  else if (option == "--residency")
    into.residency = number<std::size_t>(option, value, 1, many);
  else if (option == "--delays")
    into.delays = number<std::uint32_t>(option, value, 0, std::numeric_limits<std::uint32_t>::max());
  else
    into.pair_budget = number<std::size_t>(option, value, 0, many);
}

}  // namespace

std::string_view name_of(protocol::mutation which) {
  return std::find_if(mutants.begin(), mutants.end(), [=](const auto& one) { return one.second == which; })->first;
}

std::string list_of(const omissions& without) {
  std::string list;
  const auto add = [&](const std::string& one) { list += (list.empty() ? "" : ",") + one; };
  for (const auto& [name, one] : features)
    if (without.features.contains(one)) add(std::string(name));
  for (auto next = without.messages.begin(); next != without.messages.end();) {
    const int first = *next;
    int last = first;
    while (++next != without.messages.end() && *next == last + 1) ++last;
    add(std::to_string(first) + (last == first ? "" : '-' + std::to_string(last)));
  }
  return list;
}

arguments parse_arguments(std::span<const char* const> words) {
  arguments parsed;
  std::set<std::string_view> given;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view option = words[i];
    if (parse_flag(option, parsed)) continue;
    const std::string name(option);
    if (!takes_value(option)) throw std::invalid_argument("there is no option \"" + name + "\"; see --help");
    if (i + 1 == words.size()) throw std::invalid_argument(name + " lacks its value");
    if (!given.insert(option).second && option != "--without")
      throw std::invalid_argument(name + " is given twice, the second time as \"" + words[i + 1] + "\": give it once");
    parse_value(option, words[++i], parsed);
  }
  check_purpose(parsed);
  return parsed;
}

setting setting_for(std::uint32_t seed, const arguments& given) {
  // Of its own, so that what is given does not change what the seed makes of the rest.
  std::mt19937 random(seed ^ 0x9e3779b9U);
  const auto below = [&random](std::size_t limit) { return static_cast<std::size_t>(random() % limit); };
  setting how{.seed = seed, .delays = given.delays.value_or(seed)};
  const std::size_t size = below(12);
  how.ranks = given.ranks.value_or(size == 0 ? 16 : 2 + static_cast<int>(size % 7));
  how.messages = given.messages.value_or(static_cast<int>(5 + below(12) * static_cast<std::size_t>(how.ranks)));
  how.residency = given.residency.value_or(1 + below(4));
  how.pair_budget = given.pair_budget.value_or(below(2) == 0 ? 1 + below(3) : 16);
  how.eviction_patience = below(2) == 0 ? 0 : below(20);
  how.set_up_synchronizes = below(2) == 0;
  how.groups_get_stuck = below(5) == 0;
  if (below(4) == 0) {
    // Not the first: the sequencer would be lost with it.
    how.lost_rank = 1 + static_cast<int>(below(static_cast<std::size_t>(how.ranks - 1)));
    how.lost_at = below(2) == 0 ? below(60) : below(600);
  }
  if (below(3) == 0) how.leases = 1 + static_cast<int>(below(4));
  return how;
}

}  // namespace weft::simulation
