// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"

#include <charconv>
#include <cstddef>
#include <limits>
#include <optional>
#include <system_error>
#include <utility>

namespace weft::run {
namespace {

std::string quoted(std::string_view text) {
  return std::string("'").append(text).append("'");
}

/// The whole text as a number: no sign, no blanks, no rest.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size()) return std::nullopt;
  if (error != std::errc() && error != std::errc::result_out_of_range) return std::nullopt;
  // Out of range is still a number, of which the caller says that it is too large.
  return error == std::errc() ? value : std::numeric_limits<Number>::max();
}

/// Reads options off the front of the arguments; what remains is the command.
class parser {
 public:
  explicit parser(const std::vector<std::string_view>& arguments) : arguments_(arguments) {}

  parsed_arguments parse() {
    while (at_ < arguments_.size() && !failure_ && read_option()) {}
    if (failure_) return usage_error{*failure_};
    if (help_) return help_request{};
    if (version_) return version_request{};
    if (options_.ranks == 0)
      return usage_error{"the number of ranks is missing: give -n N, as in weft-run -n 4 PROGRAM"};
    options_.command.assign(arguments_.begin() + static_cast<std::ptrdiff_t>(at_), arguments_.end());
    if (options_.command.empty()) return usage_error{"the program to run is missing: give it after the options"};
    if (options_.command.front().empty()) return usage_error{"the program to run is an empty word"};
    return options_;
  }

 private:
  /// False where the options end.
  bool read_option() {
    const std::string_view word = arguments_[at_];
    if (word.size() < 2 || word.front() != '-') return false;
    ++at_;
    if (word == "--") return false;
    split(word);
    if (name_ == "-n") {
      read_ranks();
    } else if (name_ == "--rendezvous") {
      read_rendezvous();
    } else if (name_ == "--grace") {
      read_grace();
    } else {
      read_flag(word);
    }
    return !help_ && !version_;
  }

  /// `--name=value` and `-n4` in one word.
  void split(std::string_view word) {
    const std::size_t equals = word.starts_with("--") ? word.find('=') : std::string_view::npos;
    name_ = word.substr(0, equals);
    joined_value_.reset();
    if (equals != std::string_view::npos) joined_value_ = word.substr(equals + 1);
    if (!word.starts_with("-n") || word.size() == 2) return;
    name_ = "-n";
    joined_value_ = word.substr(2);
  }

  void read_flag(std::string_view word) {
    if (word == "--tcp") {
      options_.tcp = true;
    } else if (word == "--keep-going") {
      options_.keep_going = true;
    } else if (word == "--no-prefix") {
      options_.prefix = false;
    } else if (word == "--help" || word == "-h") {
      help_ = true;
    } else if (word == "--version") {
      version_ = true;
    } else if (name_ == "--n" || name_ == "--np" || name_ == "--ranks") {
      fail("unknown option " + quoted(word) + ": the number of ranks is given as -n N");
    } else {
      fail("unknown option " + quoted(word) + ": options of the program stand after the program's name");
    }
  }

  std::optional<std::string_view> read_value(std::string_view what) {
    if (joined_value_) return joined_value_;
    if (at_ < arguments_.size()) return arguments_[at_++];
    fail(std::string(name_) + " needs " + std::string(what) + " after it");
    return std::nullopt;
  }

  void read_ranks() {
    const auto value = read_value("the number of ranks");
    if (!value) return;
    const auto ranks = parse_number<int>(*value);
    if (!ranks || *ranks < 1 || *ranks > max_ranks) {
      fail("-n takes a number of ranks from 1 to " + std::to_string(max_ranks) + ", not " + quoted(*value));
    } else {
      options_.ranks = *ranks;
    }
  }

  void read_rendezvous() {
    const auto value = read_value("an address");
    if (!value) return;
    if (value->empty()) return fail("--rendezvous takes an address, host:port or unix:name, and was given none");
    options_.rendezvous = *value;
  }

  void read_grace() {
    const auto value = read_value("a number of seconds");
    if (!value) return;
    const auto seconds = parse_number<double>(*value);
    // Written so that "nan" fails too.
    if (!seconds || !(*seconds >= 0 && *seconds <= static_cast<double>(max_grace.count())))
      return fail("--grace takes seconds from 0 to " + std::to_string(max_grace.count()) + ", not " + quoted(*value));
    options_.grace = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::duration<double>(*seconds));
  }

  void fail(std::string message) { failure_ = std::move(message); }

  const std::vector<std::string_view>& arguments_;
  std::size_t at_ = 0;
  std::string_view name_;
  std::optional<std::string_view> joined_value_;
  job_options options_;
  bool help_ = false;
  bool version_ = false;
  std::optional<std::string> failure_;
};

}  // namespace

parsed_arguments parse_arguments(const std::vector<std::string_view>& arguments) {
  return parser(arguments).parse();
}

std::string help_text() {
  return R"(usage: weft-run -n N [options] [--] PROGRAM [ARGUMENTS...]

Starts N ranks of PROGRAM on this machine, prints what they write line by line behind "[rank] ",
and ends them all as soon as one fails, unless told to keep going.

  -n N                  how many ranks to start
  --rendezvous ADDRESS  where the ranks meet, host:port or unix:name (default: a fresh unix:name)
  --tcp                 links between the ranks use TCP, as between machines
  --keep-going          a rank that fails is reported, and the others go on
  --grace SECONDS       time between SIGTERM and SIGKILL when ranks have to end (default: 5)
  --no-prefix           print the lines as they are
  --help, --version

Each rank finds RANK, WORLD_SIZE, WEFT_LOCAL_RANK, WEFT_RENDEZVOUS and WEFT_JOB_KEY in its
environment, and with --tcp WEFT_TRANSPORT. A WEFT_JOB_KEY of the caller is kept, else a random one
is made. A rank reads nothing: its standard input is /dev/null.

SIGINT, SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 are passed on to all ranks and to their children.
The exit status is 0 when all ranks exit with 0, that of the first rank that failed (128 + signal
if a signal ended it), 126 or 127 if PROGRAM cannot be started, 2 for a wrong command line.
)";
}

}  // namespace weft::run
