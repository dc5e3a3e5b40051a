// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "program.hpp"
#include "world.hpp"

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <set>
#include <string>

namespace weft::simulation {

/// Everything that a run depends on.
struct run_request {
  setting how;
  /// Messages of the program that are left out, both ends, by their place in it: what a shrunk run does without.
  std::set<int> without;
};

struct run_result {
  std::size_t operations = 0;
  std::optional<std::string> problem;  ///< what was violated
};

[[nodiscard]] run_result run_once(const run_request& request, std::ostream* trace = nullptr);

/// Leaves out whatever messages the problem shows without, trying halves first.
[[nodiscard]] run_request shrink(run_request failing);

}  // namespace weft::simulation
