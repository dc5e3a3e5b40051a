// SPDX-License-Identifier: Apache-2.0
// weft-sim: the protocol of weft on random programs, in virtual time.
#include "arguments.hpp"
#include "replay.hpp"
#include "shrinking.hpp"

#include <chrono>
#include <cstdio>
#include <exception>
#include <iostream>
#include <string>

namespace {

using namespace weft::simulation;
using weft::protocol::active_mutation;
using weft::protocol::mutation;

struct campaign {
  std::uint32_t runs = 0;
  std::size_t operations = 0;
  std::optional<run_request> failing;
  std::string problem;
};

/// Up to the first violation.
campaign run_all(const arguments& given) {
  campaign all;
  for (std::uint32_t seed = given.first_seed; seed < given.end_of_seeds; ++seed) {
    const run_request request{setting_for(seed, given), given.without};
    const run_result result = run_once(request, given.trace ? &std::cout : nullptr);
    ++all.runs;
    all.operations += result.operations;
    if (!result.problem) continue;
    all.failing = request;
    all.problem = *result.problem;
    break;
  }
  return all;
}

std::string command_for(const run_request& request, const arguments& given) {
  const setting& how = request.how;
  std::string command = "weft-sim --seeds " + std::to_string(how.seed) + ".." + std::to_string(how.seed + 1);
  if (given.ranks) command += " --ranks " + std::to_string(*given.ranks);
  if (given.messages) command += " --messages " + std::to_string(*given.messages);
  if (given.residency) command += " --residency " + std::to_string(*given.residency);
  if (given.pair_budget) command += " --pair-budget " + std::to_string(*given.pair_budget);
  if (active_mutation != mutation::none) command += " --mutant " + std::string(name_of(active_mutation));
  if (how.delays != how.seed) command += " --delays " + std::to_string(how.delays);
  if (const std::string list = list_of(request.without); !list.empty()) command += " --without " + list;
  return command;
}

std::string counted(std::uint32_t count, const char* what) {
  return std::to_string(count) + ' ' + what + (count == 1 ? "" : "s");
}

void report_success(const campaign& all, double seconds) {
  std::printf("%s, %zu operations, no violation; %.0f seeds and %.0f operations a second\n",
              counted(all.runs, "seed").c_str(), all.operations, all.runs / seconds,
              static_cast<double>(all.operations) / seconds);
}

void report_failure(const campaign& all, const arguments& given) {
  std::printf("seed %u: %s\nrepeat it: %s\n", all.failing->how.seed, all.problem.c_str(),
              command_for(*all.failing, given).c_str());
  std::fflush(stdout);
  if (given.trace) return;
  const run_request small = shrink(*all.failing);
  std::printf("the least that shows it: %s\n", command_for(small, given).c_str());
  std::fflush(stdout);
  std::printf("%s\n", run_once(small, &std::cout).problem.value().c_str());
}

int check(const arguments& given) {
  active_mutation = given.mutant;
  const auto begin = std::chrono::steady_clock::now();
  const campaign all = run_all(given);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (all.failing)
    report_failure(all, given);
  else
    report_success(all, seconds);
  return all.failing ? 1 : 0;
}

int check_mutants(const arguments& given) {
  int missed = 0;
  for (const auto& [name, which] : mutants) {
    active_mutation = which;
    const campaign all = run_all(given);
    std::printf("%-22s %s after %s%s%s\n", std::string(name).c_str(), all.failing ? "found" : "NOT FOUND",
                counted(all.runs, "seed").c_str(), all.failing ? ": " : "", all.problem.c_str());
    if (!all.failing) ++missed;
  }
  return missed == 0 ? 0 : 1;
}

int run(const arguments& given) {
  if (given.wants_help) return std::fputs(std::string(usage).c_str(), stdout) < 0 ? 1 : 0;
  if (given.checks_mutants) return check_mutants(given);
  if (!given.lists_mutants) return check(given);
  for (const auto& [name, which] : mutants) std::printf("%s\n", std::string(name).c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(parse_arguments({argv + 1, static_cast<std::size_t>(argc - 1)}));
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "weft-sim: %s\n%s", problem.what(), std::string(usage).c_str());
    return 2;
  }
}
