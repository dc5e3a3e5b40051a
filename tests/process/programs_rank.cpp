// SPDX-License-Identifier: Apache-2.0
// One rank of jobs that run programs made by chance: `programs_rank [first seed] [count]`. Rank 0 draws the first seed
// where none or "any" is given, and judges what all ranks report. WEFT_TEST_PAIR_BUDGET sets `pair_budget`.
#include "program_runner.hpp"
#include "program_verdict.hpp"

#include <weft/serializers/cereal.hpp>
#include <weft/weft.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <sys/resource.h>

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace asio = boost::asio;

namespace {

using weft::simulation::program;
using weft::testing::program_runner;
using weft::testing::program_scale;
using weft::testing::rank_report;

constexpr int messages = 40;
constexpr std::uint32_t usual_count = 200;
// Programs that a job runs at once, each in a group of its own.
constexpr std::uint32_t lanes = 4;
constexpr std::uint64_t over_tag = 1;
constexpr std::uint64_t report_tag = 2;
constexpr std::uint64_t judged_tag = 3;
// After this a program hangs: its deadlines are far shorter.
constexpr std::chrono::seconds hang_limit{90};

struct seeds {
  std::uint32_t first = 0;
  std::uint32_t count = usual_count;
};

/// What all lanes of this process have come to.
struct tally {
  std::uint64_t programs = 0;
  std::uint64_t operations = 0;
  std::uint64_t ended_early = 0;
  std::uint64_t contradictions = 0;
};

std::string repeat_command(std::uint32_t seed, int ranks) {
  return "weft-run -n " + std::to_string(ranks) + " programs_rank " + std::to_string(seed) + " 1";
}

/// Runs the programs of one lane, one after the other.
class lane {
 public:
  lane(weft::communicator all, weft::communicator control, tally& count, const asio::any_io_executor& executor)
      : all_(std::move(all)), control_(std::move(control)), count_(count), watchdog_(executor) {}

  asio::awaitable<void> run(std::uint32_t first, std::uint32_t end) {
    for (std::uint32_t seed = first; seed < end; seed += lanes) co_await run(seed);
  }

 private:
  asio::awaitable<void> run(std::uint32_t seed) {
    const program what = weft::simulation::make_program(seed, {.ranks = all_.size(), .messages = messages});
    program_runner runner(what, all_, program_scale{}, watchdog_.get_executor());
    watch(seed, runner);
    rank_report mine;
    mine.operations = co_await runner.run();
    // Behind what each rank says now there is nothing more of its program, neither here...
    co_await tell_and_hear_all();
    mine.leftover = co_await runner.drain();
    // ...nor, once all have been judged, of the next program before everybody is through with this one.
    if (control_.rank() == 0)
      co_await judge(what, mine);
    else
      co_await submit(mine);
    watchdog_.cancel();
  }

  asio::awaitable<void> tell_and_hear_all() {
    const int mine = 0;
    std::vector<int> theirs(static_cast<std::size_t>(control_.size()));
    weft::batch all;
    for (int rank = 0; rank < control_.size(); ++rank)
      all.send(std::span(&mine, 1), weft::to(rank, over_tag))
          .recv(std::span(&theirs[static_cast<std::size_t>(rank)], 1), weft::from(rank, over_tag));
    co_await control_.batch(all);
  }

  asio::awaitable<void> submit(const rank_report& mine) {
    co_await weft::send_objects(control_, weft::to(0, report_tag), mine);
    int judged = 0;
    co_await control_.recv(std::span(&judged, 1), weft::from(0, judged_tag));
  }

  asio::awaitable<void> judge(const program& what, rank_report& mine) {
    std::vector<rank_report> all(static_cast<std::size_t>(control_.size()));
    all[0] = std::move(mine);
    for (int rank = 1; rank < control_.size(); ++rank) {
      auto [envelope, theirs] = co_await weft::recv_objects<rank_report>(control_, weft::from(rank, report_tag));
      all[static_cast<std::size_t>(rank)] = std::move(theirs);
    }
    record(what, all);
    const int judged = 1;
    for (int rank = 1; rank < control_.size(); ++rank)
      co_await control_.send(std::span(&judged, 1), weft::to(rank, judged_tag));
  }

  void record(const program& what, const std::vector<rank_report>& all) {
    ++count_.programs;
    for (const rank_report& one : all) {
      count_.operations += one.operations.size();
      for (const auto& ended : one.operations) count_.ended_early += ended.code != 0;
    }
    const auto found = weft::testing::contradictions(what, all);
    count_.contradictions += found.size();
    for (const std::string& one : found) std::cout << "seed " << what.seed << ": " << one << '\n';
    if (!found.empty()) std::cout << "again: " << repeat_command(what.seed, all_.size()) << std::endl;
  }

  void watch(std::uint32_t seed, const program_runner& runner) {
    watchdog_.expires_after(hang_limit);
    watchdog_.async_wait([this, seed, &runner](const boost::system::error_code& code) {
      if (code) return;
      std::cout << "seed " << seed << ": at rank " << all_.rank() << " these do not end:";
      for (const int number : runner.unfinished()) std::cout << ' ' << number;
      std::cout << "\nagain: " << repeat_command(seed, all_.size()) << std::endl;
      std::_Exit(1);
    });
  }

  weft::communicator all_;
  weft::communicator control_;  ///< the same ranks, beside the program
  tally& count_;
  asio::steady_timer watchdog_;
};

asio::awaitable<std::uint32_t> agree_on(weft::communicator comm, std::uint32_t first) {
  for (int rank = 1; rank < comm.size() && comm.rank() == 0; ++rank)
    co_await comm.send(std::span(&first, 1), weft::to(rank, 0));
  if (comm.rank() != 0) co_await comm.recv(std::span(&first, 1), weft::from(0, 0));
  co_return first;
}

asio::awaitable<void> run_lanes(weft::communicator comm, seeds which, tally& count) {
  const auto executor = co_await asio::this_coro::executor;
  std::vector<std::unique_ptr<lane>> all;
  std::uint32_t running = 0;
  std::exception_ptr problem;
  asio::steady_timer ended(executor, asio::steady_timer::time_point::max());
  for (std::uint32_t i = 0; i < lanes; ++i) {
    const weft::communicator group = co_await comm.split(0);
    const weft::communicator control = co_await comm.split(0);
    all.push_back(std::make_unique<lane>(group, control, count, executor));
  }
  for (std::uint32_t i = 0; i < lanes; ++i) {
    ++running;
    asio::co_spawn(executor, all[i]->run(which.first + i, which.first + which.count),
                   [&](const std::exception_ptr& thrown) {
                     if (thrown) problem = thrown;
                     --running;
                     ended.cancel();
                   });
  }
  while (running != 0 && !problem) co_await ended.async_wait(asio::as_tuple(asio::use_awaitable));
  if (problem) std::rethrow_exception(problem);
}

asio::awaitable<void> live(weft::engine& one, seeds which, bool& clean) {
  weft::communicator comm = co_await one.join();
  which.first = co_await agree_on(comm, which.first);
  if (comm.rank() == 0) std::cout << "seeds " << which.first << " to " << which.first + which.count - 1 << std::endl;
  tally count;
  co_await run_lanes(comm, which, count);
  if (comm.stats().unmatched != 0) {
    std::cout << comm.stats().unmatched << " messages are left" << std::endl;
    clean = false;
  }
  if (comm.rank() == 0)
    std::cout << count.programs << " programs, " << count.operations << " operations, " << count.ended_early
              << " ended early, " << (count.contradictions == 0 ? "no" : std::to_string(count.contradictions))
              << " contradictions" << std::endl;
  clean = clean && count.contradictions == 0;
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
  options.eager_limit = weft::simulation::eager_units * program_scale{}.unit;
  options.inline_credit = weft::simulation::credit_units * program_scale{}.unit;
  if (const char* budget = std::getenv("WEFT_TEST_PAIR_BUDGET")) options.pair_budget = std::stoul(budget);
  options.late_error = [](const boost::system::error_code& code, const weft::operation_details& details) {
    if (code == weft::errc::size_mismatch) return;  // of an inline send that was over; the receiver's end is judged
    std::cout << "late: " << weft::describe(code, details) << std::endl;
    std::_Exit(1);
  };
  return options;
}

bool run(seeds which) {
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
  seeds which{.first = std::random_device()() / 2};
  try {
    if (argc > 1 && argv[1] != std::string("any")) which.first = static_cast<std::uint32_t>(std::stoul(argv[1]));
    if (argc > 2) which.count = static_cast<std::uint32_t>(std::stoul(argv[2]));
    return run(which) ? 0 : 1;
  } catch (const std::exception& problem) {
    std::cout << problem.what() << std::endl;
    return 1;
  }
}
