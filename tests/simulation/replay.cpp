// SPDX-License-Identifier: Apache-2.0
#include "replay.hpp"

#include "simulation.hpp"

#include <exception>

namespace weft::simulation {

run_result run_once(const run_request& request, std::ostream* trace) {
  setting how = request.how;
  program what =
      make_program(how.seed, {.ranks = how.ranks, .messages = how.messages, .with_unready = true, .with_heads = true});
  if (!what.provokes_ends) how.lost_rank = -1;  // all that it is to carry out would lack a counterpart
  leave_out(request.without, what, how);
  run_result result{.operations = what.operations.size() - 2 * request.without.messages.size(), .problem = {}};
  try {
    simulation(what, how, trace).run();
  } catch (const std::exception& problem) {
    result.problem = problem.what();
  }
  return result;
}

std::string_view kind_of(const run_result& result) {
  if (!result.problem) return {};
  return std::string_view(*result.problem).substr(0, result.problem->find(':'));
}

}  // namespace weft::simulation
