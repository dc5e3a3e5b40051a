// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../simulation/program.hpp"
#include "program_runner.hpp"

#include <string>
#include <vector>

namespace weft::testing {

/// What one rank says when its part of a program is over.
struct rank_report {
  std::vector<operation_report> operations;
  int leftover = 0;  ///< messages to it that nobody had received

  template <class Archive>
  void serialize(Archive& archive) {
    archive(operations, leftover);
  }
};

/// What in the reports of all ranks contradicts the program, or MPI's rules of matching; one sentence each.
[[nodiscard]] std::vector<std::string> contradictions(const simulation::program& what,
                                                      const std::vector<rank_report>& by_rank);

}  // namespace weft::testing
