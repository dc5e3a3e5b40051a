// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/engine/communicator.hpp>
#include <weft/engine/options.hpp>
#include <weft/engine/route.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace weft::bench {

struct options;
class workload;

/// Which ranks exchange with each other.
enum class grouping {
  pairs,  ///< (0,1), (2,3) and so on
  all,    ///< any number
};

/// What a scenario is, where the command line does not say otherwise.
struct scenario_traits {
  std::string_view name;
  std::unique_ptr<workload> (*make)(const weft::communicator&, const options&);  ///< what one rank does
  grouping who;
  std::size_t in_flight;
  std::size_t default_size;
  std::string_view summary;
};

/// Each rank is a process of this machine.
inline constexpr int max_ranks = 64;
/// Shorter than that, a run has too few round trips for its 99th percentile, and its rate is that of the clock's noise.
inline constexpr double min_seconds = 0.01;
inline constexpr double max_seconds = 600;
/// Small ones fit into the credit that a sender has at a receiver which does not take them: 4 MiB.
inline constexpr std::size_t max_in_flight = 100'000;
/// Every message in flight has a buffer of its own at the receiver, which has to hold them all.
inline constexpr std::size_t max_window_bytes = std::size_t{4} << 30;

/// What the command line asks for.
struct options {
  scenario_traits what;
  weft::route route = weft::route::automatic;
  std::size_t size = 0;       ///< of one message, in bytes
  std::size_t in_flight = 1;  ///< messages
  double seconds = 1;
  bool json = false;
  bool compare = false;                      ///< objects in several ways, against plain buffers
  std::optional<int> ranks;                  ///< none: those of the environment, or two
  std::optional<weft::transport> transport;  ///< none: that of the environment, or Unix sockets
};

struct help_request {};
struct version_request {};
/// Instructions are to be counted: of all cases, or, within callgrind, this one.
struct smoke_request {
  struct single {
    std::string_view name;
    std::uint64_t exchanges;
  };
  std::optional<single> only;
};

/// The command line asks for what cannot be done.
struct usage_error : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

/// `words` are those after the program's name. Throws `usage_error`.
[[nodiscard]] std::variant<options, help_request, version_request, smoke_request> parse_arguments(
    const std::vector<std::string_view>& words);

/// Throws `usage_error` where the scenario cannot have that many ranks, or not with messages of that size.
void check_ranks(const options& asked, int ranks);

[[nodiscard]] std::string help_text();

}  // namespace weft::bench
