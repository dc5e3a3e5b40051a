// SPDX-License-Identifier: Apache-2.0
// One rank of jobs that run programs made by chance: `programs_rank [first seed] [count]`. Rank 0 draws the first seed
// where none or "any" is given, and judges what all ranks report. WEFT_TEST_PAIR_BUDGET sets `pair_budget`.
#include "../support/program_lanes.hpp"

#include <weft/weft.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <sys/resource.h>

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <random>
#include <span>
#include <string>

namespace asio = boost::asio;

namespace {

using weft::testing::program_series;
using weft::testing::program_tally;

constexpr std::uint32_t usual_count = 200;

asio::awaitable<std::uint32_t> agree_on(weft::communicator comm, std::uint32_t first) {
  for (int rank = 1; rank < comm.size() && comm.rank() == 0; ++rank)
    co_await comm.send(std::span(&first, 1), weft::to(rank, 0));
  if (comm.rank() != 0) co_await comm.recv(std::span(&first, 1), weft::from(0, 0));
  co_return first;
}

asio::awaitable<void> live(weft::engine& one, program_series which, bool& clean) {
  weft::communicator comm = co_await one.join();
  which.first = co_await agree_on(comm, which.first);
  which.again = [ranks = comm.size()](std::uint32_t seed) {
    return "weft-run -n " + std::to_string(ranks) + " programs_rank " + std::to_string(seed) + " 1";
  };
  if (comm.rank() == 0) std::cout << "seeds " << which.first << " to " << which.first + which.count - 1 << std::endl;
  weft::testing::program_memory memory;
  const program_tally count = co_await weft::testing::run_programs(comm, which, memory);
  if (count.left != 0) std::cout << count.left << " messages are left" << std::endl;
  if (comm.rank() == 0) std::cout << describe(count) << std::endl;
  clean = count.is_clean();
  co_await one.close();
}

/// Groups that were split off last as long as the engine, with a connection for each direction that was used.
void allow_many_files() {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

weft::engine_options scaled_options() {
  weft::engine_options options = weft::options_from_environment();
  weft::testing::scale(options);
  if (const char* budget = std::getenv("WEFT_TEST_PAIR_BUDGET")) options.pair_budget = std::stoul(budget);
  return options;
}

bool run(const program_series& which) {
  allow_many_files();
  asio::io_context context(1);
  weft::engine one(context.get_executor(), scaled_options());
  bool clean = true;
  std::exception_ptr problem;
  asio::co_spawn(context, live(one, which, clean), [&](const std::exception_ptr& thrown) {
    problem = thrown;
    if (thrown) context.stop();
  });
  context.run();
  if (problem) std::rethrow_exception(problem);
  return clean;
}

}  // namespace

int main(int argc, char** argv) {
  program_series which{.first = std::random_device()() / 2, .count = usual_count, .again = {}};
  try {
    if (argc > 1 && argv[1] != std::string("any")) which.first = static_cast<std::uint32_t>(std::stoul(argv[1]));
    if (argc > 2) which.count = static_cast<std::uint32_t>(std::stoul(argv[2]));
    return run(which) ? 0 : 1;
  } catch (const std::exception& problem) {
    std::cout << problem.what() << std::endl;
    return 1;
  }
}
