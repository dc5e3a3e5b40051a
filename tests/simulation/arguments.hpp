// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "omissions.hpp"
#include "protocol/mutation.hpp"
#include "world.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
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
  std::optional<std::uint32_t> delays;
  protocol::mutation mutant = protocol::mutation::none;
  omissions without;
  bool trace = false;
  bool lists_mutants = false;
  bool checks_mutants = false;
  bool wants_help = false;
};

inline constexpr std::array<std::pair<std::string_view, protocol::mutation>, 14> mutants{{
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
    {"await-lost", protocol::mutation::await_lost},
    {"lease-alone", protocol::mutation::lease_alone},
    {"lease-beside-groups", protocol::mutation::lease_beside_groups},
    {"requeue-at-end", protocol::mutation::requeue_at_end},
}};

[[nodiscard]] std::string_view name_of(protocol::mutation which);

/// As `--without` takes it, with ranges; empty if nothing is left out.
[[nodiscard]] std::string list_of(const omissions& without);

/// Throws `std::invalid_argument` that says what is wrong and what was expected.
[[nodiscard]] arguments parse_arguments(std::span<const char* const> words);

/// The machines for a seed.
[[nodiscard]] setting setting_for(std::uint32_t seed, const arguments& given);

inline constexpr std::string_view usage =
    "usage: weft-sim [--seeds FIRST..END] [--ranks N] [--messages N] [--residency N] [--pair-budget N] [--delays N]\n"
    "                [--mutant NAME | --check-mutants | --list-mutants] [--without WHAT,...] [--trace]\n"
    "Runs weft's protocol on random programs in virtual time, one for each seed from FIRST to END-1 (1..2001), and\n"
    "checks that each operation ends as it must. Exits with 1 at the first violation, printing how to repeat it, and\n"
    "the least of it that shows one of the same kind, with its trace. \"send 12\" and \"receive 12\" are the ends of\n"
    "message 12.\n"
    "  --ranks, --messages, --residency, --pair-budget\n"
    "                    ranks (2 to 16), messages (1 to 10000), communicators resident on a device, pair\n"
    "                    communicators of a rank; drawn from the seed where they are not given\n"
    "  --delays N        the seed of all delays, in place of the program's own\n"
    "  --mutant NAME     with a deliberate fault, which is to be found\n"
    "  --check-mutants   with each one in turn: exits with 1 if one of them is not found\n"
    "  --without WHAT,... leaves out messages, as 3 or 5-17, and features: cancels, deadlines, unready (buffers),\n"
    "                    batches, waits (of coroutines), evictions, stuck-groups, quiet-set-ups, leases (of\n"
    "                    devices), loss (of a rank), idle-ranks (those left with nothing to do; the others are\n"
    "                    numbered again)\n"
    "  --trace           prints everything that happens\n";

}  // namespace weft::simulation
