// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocol/mutation.hpp"
#include "world.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>

namespace weft::simulation {

/// What weft-sim is asked to do. What is not given is drawn from each seed.
struct arguments {
  std::uint32_t first_seed = 1;
  std::uint32_t end_of_seeds = 2001;
  std::optional<int> ranks;
  std::optional<int> messages;
  std::optional<std::size_t> residency;
  std::optional<std::size_t> pair_budget;
  protocol::mutation mutant = protocol::mutation::none;
  std::set<int> without;
  bool trace = false;
  bool lists_mutants = false;
  bool checks_mutants = false;
  bool wants_help = false;
};

inline constexpr std::array<std::pair<std::string_view, protocol::mutation>, 11> mutants{{
    {"group-by-timing", protocol::mutation::group_by_timing},
    {"log-per-communicator", protocol::mutation::log_per_communicator},
    {"no-gate", protocol::mutation::no_gate},
    {"readiness-on-stream", protocol::mutation::readiness_on_stream},
    {"no-caps", protocol::mutation::no_caps},
    {"evict-by-own-choice", protocol::mutation::evict_by_own_choice},
    {"forget-on-cancel", protocol::mutation::forget_on_cancel},
    {"withdraw-from-log", protocol::mutation::withdraw_from_log},
    {"wildcard-overtakes", protocol::mutation::wildcard_overtakes},
    {"leak-credit", protocol::mutation::leak_credit},
    {"requeue-at-end", protocol::mutation::requeue_at_end},
}};

[[nodiscard]] std::string_view name_of(protocol::mutation which);

/// Throws `std::invalid_argument` that says what is wrong and what was expected.
[[nodiscard]] arguments parse_arguments(std::span<const char* const> words);

/// The machines for a seed.
[[nodiscard]] setting setting_for(std::uint32_t seed, const arguments& given);

inline constexpr std::string_view usage =
    "usage: weft-sim [--seeds FIRST..END] [--ranks N] [--messages N] [--residency N] [--pair-budget N]\n"
    "                [--mutant NAME | --check-mutants | --list-mutants] [--without N,N,...] [--trace]\n"
    "Runs weft's protocol on random programs in virtual time, one for each seed from FIRST to END-1 (1..2001), and\n"
    "checks that each operation ends as it must. Exits with 1 at the first violation, printing how to repeat it.\n"
    "  --ranks, --messages, --residency, --pair-budget\n"
    "                    ranks (2 to 16), messages, communicators resident on a device, pair communicators of a rank;\n"
    "                    drawn from the seed where they are not given\n"
    "  --mutant NAME     with a deliberate fault, which is to be found\n"
    "  --check-mutants   with each one in turn: exits with 1 if one of them is not found\n"
    "  --without N,...   leaves out these messages\n"
    "  --trace           prints everything that happens\n";

}  // namespace weft::simulation
