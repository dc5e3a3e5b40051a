// SPDX-License-Identifier: Apache-2.0
#include "replay.hpp"

#include "simulation.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace weft::simulation {
namespace {

/// Both ends of a message are made one after the other, except in exchanges.
int message_of(const planned_operation& operation) {
  return operation.number / 2;
}

void leave_out(program& from, const std::set<int>& messages) {
  const auto is_left_out = [&](int operation) {
    return messages.contains(message_of(from.operations[static_cast<std::size_t>(operation)]));
  };
  for (auto& strands : from.strands)
    for (strand& one : strands) {
      for (step& each : one) std::erase_if(each.operations, is_left_out);
      std::erase_if(one, [](const step& each) { return each.operations.empty(); });
    }
  for (planned_operation& one : from.operations) {
    one.left_out = is_left_out(one.number);
    if (one.ready_after >= 0 && is_left_out(one.ready_after)) one.ready_after = -1;
  }
}

}  // namespace

run_result run_once(const run_request& request, std::ostream* trace) {
  program what = make_program(request.how.seed,
                              {.ranks = request.how.ranks, .messages = request.how.messages, .with_unready = true});
  leave_out(what, request.without);
  run_result result{.operations = what.operations.size() - 2 * request.without.size(), .problem = {}};
  try {
    simulation(what, request.how, trace).run();
  } catch (const std::exception& problem) {
    result.problem = problem.what();
  }
  return result;
}

run_request shrink(run_request failing) {
  const program whole = make_program(
      failing.how.seed, {.ranks = failing.how.ranks, .messages = failing.how.messages, .with_unready = true});
  std::vector<int> left;
  for (int i = 0; i < static_cast<int>(whole.operations.size() / 2); ++i)
    if (!failing.without.contains(i)) left.push_back(i);
  for (std::size_t size = left.size() / 2; size > 0; size = size == 1 ? 0 : (size + 1) / 2)
    for (std::size_t begin = 0; begin < left.size();) {
      const auto first = left.begin() + static_cast<std::ptrdiff_t>(begin);
      const auto last = left.begin() + static_cast<std::ptrdiff_t>(std::min(begin + size, left.size()));
      run_request smaller = failing;
      smaller.without.insert(first, last);
      if (!run_once(smaller).problem) {
        begin += size;
        continue;
      }
      failing = std::move(smaller);
      left.erase(first, last);
    }
  return failing;
}

}  // namespace weft::simulation
