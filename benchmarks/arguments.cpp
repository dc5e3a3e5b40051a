// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"

#include "workload.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <system_error>

namespace weft::bench {
namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;

// 64 in flight and 8 in flight are the windows that other libraries are measured with.
constexpr std::array known_scenarios{
    scenario_traits{"pingpong", make_buffer_ping_pong, grouping::pairs, 1, 64,
                    "half of a round trip of one buffer, default 64 bytes"},
    scenario_traits{"rate", make_stream, grouping::pairs, 64, 64, "messages a second, one way, default 64 bytes"},
    scenario_traits{"bandwidth", make_stream, grouping::pairs, 8, mebibyte, "GB/s, one way, default 1M"},
    scenario_traits{"objects", make_object_ping_pong, grouping::pairs, 1, 64,
                    "half of a round trip of a typed object, default 64 bytes"},
    scenario_traits{"loop-stall", make_loop_stall, grouping::pairs, 1, 1024 * mebibyte,
                    "how late a timer of 1 ms is on either loop during a transfer, one way, default 1G"},
    scenario_traits{"kv", make_key_value, grouping::pairs, 18'880, 4096,
                    "a message of 18,880 pieces (--in-flight) of 4K each, one way, against one block"},
    scenario_traits{"idle", make_idle, grouping::all, 1, 64,
                    "what idle connections take, and pingpong between ranks 0 and 1 beside them, default 64 bytes"},
    scenario_traits{"pending", make_pending, grouping::pairs, max_in_flight, 64,
                    "pingpong while 100,000 (--in-flight) receives and as many messages wait, against one of each"},
    scenario_traits{"startup", make_startup, grouping::all, 1, 64,
                    "until all have joined; and the first request of each rank to rank 0, default 64 bytes"},
    scenario_traits{"any-source", make_any_source, grouping::all, 1, 64,
                    "requests of all to rank 0, which receives from any source, default 64 bytes"},
    scenario_traits{"alltoall", make_all_to_all, grouping::all, 1, 65536,
                    "rounds in which each rank sends one message to each other, default 64K"},
    scenario_traits{"batch", make_batches, grouping::pairs, 64, 65536,
                    "batches of 64 sends and as many receives (--in-flight) at each end, default 64K"},
};

std::string quoted(std::string_view text) {
  return "'" + std::string(text) + "'";
}

std::string scenario_names() {
  std::string names;
  for (const scenario_traits& each : known_scenarios) names += (names.empty() ? "" : ", ") + std::string(each.name);
  return names;
}

/// The number at the front of `text`, which is cut off from it.
template <class Number>
std::optional<Number> take_number(std::string_view& text) {
  Number value{};
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

/// K, M and G stand for powers of 1024.
std::optional<unsigned> shift_of_unit(std::string_view unit) {
  constexpr std::string_view units = "KMG";
  if (unit.empty()) return 0;
  const std::size_t at = units.find(unit.front());
  if (unit.size() > 1 || at == std::string_view::npos) return std::nullopt;
  return static_cast<unsigned>(10 * (at + 1));
}

std::size_t parse_size(std::string_view value) {
  std::string_view rest = value;
  const auto number = take_number<std::size_t>(rest);
  const auto shift = shift_of_unit(rest);
  if (!number || !shift || *number > max_window_bytes >> *shift)
    throw usage_error("--size takes bytes from 0 to 4G, as in 64, 64K or 64M, not " + quoted(value));
  return *number << *shift;
}

double parse_seconds(std::string_view value) {
  std::string_view rest = value;
  const auto number = take_number<double>(rest);
  // Written so that not-a-number fails too.
  if (!number || !rest.empty() || !(*number >= min_seconds && *number <= max_seconds))
    throw usage_error("--seconds takes a number from 0.01 to 600, as in 0.5, not " + quoted(value));
  return *number;
}

int parse_ranks(std::string_view value) {
  std::string_view rest = value;
  const auto number = take_number<int>(rest);
  if (!number || !rest.empty()) throw usage_error("--ranks takes a number from 2 to 64, as in 4, not " + quoted(value));
  return *number;
}

std::size_t parse_in_flight(std::string_view value) {
  std::string_view rest = value;
  const auto number = take_number<std::size_t>(rest);
  if (!number || !rest.empty() || *number < 1 || *number > max_in_flight)
    throw usage_error("--in-flight takes a number from 1 to 100000, as in 64, not " + quoted(value));
  return *number;
}

weft::route parse_route_option(std::string_view value) {
  if (const auto known = weft::parse_route(value)) return *known;
  throw usage_error("unknown route " + quoted(value) + "; routes are automatic, inline, host, device and pair");
}

weft::transport parse_transport(std::string_view value) {
  if (value == "unix") return weft::transport::unix_socket;
  if (value == "tcp") return weft::transport::tcp;
  throw usage_error("unknown transport " + quoted(value) + "; transports are unix and tcp");
}

scenario_traits parse_scenario(std::string_view name) {
  const auto at = std::ranges::find(known_scenarios, name, &scenario_traits::name);
  if (at == known_scenarios.end())
    throw usage_error("unknown scenario " + quoted(name) + "; scenarios are " + scenario_names());
  return *at;
}

smoke_request parse_smoke(std::span<const std::string_view> words) {
  if (words.empty()) return {};
  std::string given;
  for (const std::string_view word : words) given += " " + std::string(word);
  std::string_view count = words.back();
  const auto exchanges = take_number<std::uint64_t>(count);
  if (words.size() != 2 || !exchanges || !count.empty() || *exchanges == 0)
    throw usage_error(
        "--smoke takes nothing, or a case and how many exchanges of it to run, as in --smoke buffers 1000, not" +
        given);
  return {smoke_request::single{words.front(), *exchanges}};
}

bool takes_value(std::string_view option) {
  constexpr std::array names{"--route", "--size", "--in-flight", "--ranks", "--seconds", "--transport"};
  return std::ranges::find(names, option) != names.end();
}

/// Reads all words but --help and --version.
class parser {
 public:
  explicit parser(std::span<const std::string_view> words) : words_(words) {}

  options parse() {
    while (!words_.empty()) read(take());
    if (!what_) throw usage_error("a scenario is missing: give one of " + scenario_names());
    asked_.what = *what_;
    asked_.size = size_.value_or(what_->default_size);
    asked_.in_flight = in_flight_.value_or(what_->in_flight);
    if (in_flight_ && what_->in_flight == 1)
      throw usage_error("--in-flight is for scenarios with several messages in flight; " + std::string(what_->name) +
                        " has one at a time");
    if (asked_.compare) check_compare();
    check_ranks(asked_, asked_.ranks.value_or(2));
    return asked_;
  }

 private:
  std::string_view take() {
    const std::string_view word = words_.front();
    words_ = words_.subspan(1);
    return word;
  }

  /// It measures a fixed set of things.
  void check_compare() const {
    if (what_->make != make_object_ping_pong)
      throw usage_error("--compare is for the scenario objects, not for " + std::string(what_->name));
    for (const std::string_view word : given_)
      if (word != "--compare" && word != "--ranks" && word != "--transport")
        throw usage_error("--compare prints a table of fixed sizes: leave out " + std::string(word));
    if (asked_.ranks.value_or(2) != 2)
      throw usage_error("--compare is for two ranks, not " + std::to_string(*asked_.ranks));
  }

  void read(std::string_view word) {
    if (word.starts_with('-')) given_.push_back(word);
    if (takes_value(word)) {
      if (words_.empty()) throw usage_error("a value is missing after " + std::string(word));
      set(word, take());
    } else if (word == "--json") {
      asked_.json = true;
    } else if (word == "--compare") {
      asked_.compare = true;
    } else if (word == "--smoke") {
      throw usage_error("--smoke comes first, and instead of a scenario");
    } else if (word.starts_with('-')) {
      throw usage_error("unknown option " + quoted(word) + "; weft-bench --help lists what there is");
    } else if (what_) {
      throw usage_error("one scenario at a time: " + quoted(word) + " comes after " + std::string(what_->name));
    } else {
      what_ = parse_scenario(word);
    }
  }

  void set(std::string_view option, std::string_view value) {
    if (option == "--route") asked_.route = parse_route_option(value);
    if (option == "--size") size_ = parse_size(value);
    if (option == "--in-flight") in_flight_ = parse_in_flight(value);
    if (option == "--ranks") asked_.ranks = parse_ranks(value);
    if (option == "--seconds") asked_.seconds = parse_seconds(value);
    if (option == "--transport") asked_.transport = parse_transport(value);
  }

  std::span<const std::string_view> words_;
  options asked_{};
  std::optional<std::size_t> size_;
  std::optional<std::size_t> in_flight_;
  std::optional<scenario_traits> what_;
  std::vector<std::string_view> given_;  ///< options, in their order
};

}  // namespace

void check_ranks(const options& asked, int ranks) {
  const bool in_pairs = asked.what.who == grouping::pairs;
  const std::string name(asked.what.name);
  if (ranks < 2 || ranks > max_ranks || (in_pairs && ranks % 2 != 0))
    throw usage_error(
        "the number of ranks of " + name + " is " +
        (in_pairs ? "an even one from 2 to 64, because ranks are measured in pairs" : "one from 2 to 64") + ", not " +
        std::to_string(ranks));
  const std::size_t messages = asked.in_flight * (in_pairs ? 1 : static_cast<std::size_t>(ranks - 1));
  if (asked.size > max_window_bytes / messages)
    throw usage_error(name + " keeps " + std::to_string(messages) + " messages in flight: " +
                      std::to_string(asked.size) + " bytes each is more than 4G together; give a smaller --size");
}

std::variant<options, help_request, version_request, smoke_request> parse_arguments(
    const std::vector<std::string_view>& words) {
  for (const std::string_view word : words) {
    if (word == "--help" || word == "-h") return help_request{};
    if (word == "--version") return version_request{};
  }
  if (!words.empty() && words.front() == "--smoke") return parse_smoke(std::span(words).subspan(1));
  return parser(words).parse();
}

std::string help_text() {
  std::string text =
      "weft-bench SCENARIO [OPTION...]: measures weft between processes of this machine, or the ranks of weft-run\n\n";
  for (const scenario_traits& each : known_scenarios)
    text += "  " + std::string(each.name) + std::string(12 - each.name.size(), ' ') + std::string(each.summary) + "\n";
  return text +
         "\n"
         "  --route R      automatic, inline, host, device or pair; default automatic\n"
         "  --size B       bytes of one message; K, M and G, in capitals, stand for powers of 1024\n"
         "  --in-flight N  messages, pieces or operations at a time, of scenarios with several, up to 100000; at most "
         "4G\n"
         "                 are in flight together\n"
         "  --ranks N      processes, default 2, up to 64; an even number where they exchange in pairs (0,1), (2,3) "
         "and "
         "so on\n"
         "  --seconds S    how long to measure, from 0.01 to 600; default 1. A warm-up comes before it, which with "
         "many\n"
         "                 or large messages takes longer\n"
         "  --transport T  unix or tcp; default WEFT_TRANSPORT, or unix\n"
         "  --compare      of objects: 64 MiB in several ways, against plain buffers, and a small request\n"
         "  --json         one JSON object on one line\n"
         "  --version      prints the version\n"
         "  --smoke        instead of a scenario: counts instructions per message by callgrind, against those on "
         "record;\n"
         "                 with a case and a count, as in --smoke buffers 1000, runs what is counted\n\n"
         "Latencies are those of all ranks that see them, rates are the sum of all, and processor time and\n"
         "allocations those of all ranks per message. Leading ranks are the even one of each pair, or rank 0.\n"
         "A ratio is that of the rate to the baseline's.\n"
         "WEFT_DEVICE (automatic, host or cuda) says what carries the routes device and pair; with cuda, "
         "WEFT_DEVICE_ORDINAL\n"
         "is the GPU of rank 0, and the other processes that this program starts take those that follow.\n"
         "Exit status: 0 when measured and verified, 1 when the run failed, 2 for bad arguments.\n";
}

}  // namespace weft::bench
