// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "omissions.hpp"
#include "world.hpp"

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

namespace weft::simulation {

/// Everything that a run depends on.
struct run_request {
  setting how;
  omissions without;
};

struct run_result {
  std::size_t operations = 0;
  std::optional<std::string> problem;  ///< what was violated
};

/// Throws `std::invalid_argument` for a message to leave out that the program does not have.
[[nodiscard]] run_result run_once(const run_request& request, std::ostream* trace = nullptr);

/// Of which kind a problem is, or empty.
[[nodiscard]] std::string_view kind_of(const run_result& result);

}  // namespace weft::simulation
