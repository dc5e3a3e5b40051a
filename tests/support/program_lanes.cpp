// SPDX-License-Identifier: Apache-2.0
#include "program_lanes.hpp"

#include "program_runner.hpp"
#include "program_verdict.hpp"

#include <weft/engine/error.hpp>
#include <weft/engine/objects.hpp>
#include <weft/serializers/cereal.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace weft::testing {
namespace {

namespace asio = boost::asio;
using simulation::program;

constexpr int messages = 40;
// Programs that run at once, each in a group of its own.
constexpr std::uint32_t lanes = 4;
constexpr std::uint64_t over_tag = 1;
constexpr std::uint64_t report_tag = 2;
constexpr std::uint64_t judged_tag = 3;
// After this a program hangs: its deadlines are far shorter.
constexpr std::chrono::seconds hang_limit{90};

/// Runs every fourth program of a series, one after the other.
class lane {
 public:
  lane(communicator all, communicator control, const program_series& which, program_memory& memory,
       program_tally& count, const asio::any_io_executor& executor)
      : all_(std::move(all)),
        control_(std::move(control)),
        which_(which),
        memory_(memory),
        count_(count),
        watchdog_(executor) {}

  asio::awaitable<void> run(std::uint32_t offset) {
    for (; offset < which_.count; offset += lanes) {
      seed_ = which_.first + offset;
      try {
        co_await run_one();
      } catch (const std::exception& problem) {
        give_up(problem.what());
      }
    }
  }

 private:
  asio::awaitable<void> run_one() {
    const program what = simulation::make_program(seed_, {.ranks = all_.size(), .messages = messages});
    program_runner runner(what, all_, program_scale{}, memory_, watchdog_.get_executor());
    watch(runner);
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
      all.send(std::span(&mine, 1), to(rank, over_tag))
          .recv(std::span(&theirs[static_cast<std::size_t>(rank)], 1), from(rank, over_tag));
    co_await control_.batch(all);
  }

  asio::awaitable<void> submit(const rank_report& mine) {
    co_await send_objects(control_, to(0, report_tag), mine);
    int judged = 0;
    co_await control_.recv(std::span(&judged, 1), from(0, judged_tag));
  }

  asio::awaitable<void> judge(const program& what, rank_report& mine) {
    std::vector<rank_report> all(static_cast<std::size_t>(control_.size()));
    all[0] = std::move(mine);
    for (int rank = 1; rank < control_.size(); ++rank) {
      auto [envelope, theirs] = co_await recv_objects<rank_report>(control_, from(rank, report_tag));
      all[static_cast<std::size_t>(rank)] = std::move(theirs);
    }
    record(what, all);
    const int judged = 1;
    for (int rank = 1; rank < control_.size(); ++rank)
      co_await control_.send(std::span(&judged, 1), to(rank, judged_tag));
  }

  void record(const program& what, const std::vector<rank_report>& all) {
    ++count_.programs;
    for (const rank_report& one : all) {
      count_.operations += one.operations.size();
      for (const auto& ended : one.operations) count_.ended_early += ended.code != 0;
    }
    const auto found = contradictions(what, all);
    count_.contradictions += found.size();
    for (const std::string& one : found) std::cout << "seed " << seed_ << ": " << one << '\n';
    if (!found.empty()) std::cout << "again: " << which_.again(seed_) << std::endl;
  }

  void watch(const program_runner& runner) {
    watchdog_.expires_after(hang_limit);
    watchdog_.async_wait([this, &runner](const boost::system::error_code& code) {
      if (code) return;
      std::string unfinished;
      for (const int number : runner.unfinished()) unfinished += " " + std::to_string(number);
      give_up("these do not end:" + unfinished);
    });
  }

  // The other lanes, and the other ranks, would wait for this one.
  [[noreturn]] void give_up(const std::string& why) {
    std::cout << "seed " << seed_ << ": at rank " << all_.rank() << " " << why << "\nagain: " << which_.again(seed_)
              << std::endl;
    std::_Exit(1);
  }

  communicator all_;
  communicator control_;  ///< the same ranks, beside the program
  const program_series& which_;
  program_memory& memory_;
  program_tally& count_;
  asio::steady_timer watchdog_;
  std::uint32_t seed_ = 0;
};

}  // namespace

std::string describe(const program_tally& count) {
  return std::to_string(count.programs) + " programs, " + std::to_string(count.operations) + " operations, " +
         std::to_string(count.ended_early) + " ended early, " +
         (count.contradictions == 0 ? "no" : std::to_string(count.contradictions)) + " contradictions";
}

void scale(engine_options& options) {
  options.eager_limit = simulation::eager_units * program_scale{}.unit;
  options.inline_credit = simulation::credit_units * program_scale{}.unit;
  options.late_error = [](const boost::system::error_code& code, const operation_details& details) {
    if (code == errc::size_mismatch) return;  // of an inline send that was over; the receiver's end is judged
    std::cout << "late: " << weft::describe(code, details) << std::endl;
    std::_Exit(1);
  };
}

asio::awaitable<program_tally> run_programs(communicator all, program_series which, program_memory& memory) {
  const auto executor = co_await asio::this_coro::executor;
  program_tally count;
  std::vector<std::unique_ptr<lane>> made;
  std::uint32_t running = 0;
  asio::steady_timer ended(executor, asio::steady_timer::time_point::max());
  for (std::uint32_t i = 0; i < lanes; ++i) {
    const communicator group = co_await all.split(0);
    const communicator control = co_await all.split(0);
    made.push_back(std::make_unique<lane>(group, control, which, memory, count, executor));
  }
  for (std::uint32_t i = 0; i < lanes; ++i) {
    ++running;
    asio::co_spawn(executor, made[i]->run(i), [&](const std::exception_ptr&) {
      --running;
      ended.cancel();
    });
  }
  while (running != 0) co_await ended.async_wait(asio::as_tuple(asio::use_awaitable));
  count.left = all.stats().unmatched;
  co_return count;
}

}  // namespace weft::testing
