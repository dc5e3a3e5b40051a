// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/engine/communicator.hpp>
#include <weft/engine/engine.hpp>
#include <weft/engine/options.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

/// Ranks as threads of the test, each with an engine and a loop of its own, over real sockets.
namespace weft::testing {

using rank_body = std::function<boost::asio::awaitable<void>(communicator)>;

/// How the ranks of a test are linked.
struct links {
  transport over = transport::unix_socket;
  /// Changes the options of every rank before its engine is made.
  std::function<void(engine_options&)> adjust;
};

/// What the ranks of a test run on, where it is not this host's memory.
struct machine {
  std::function<std::shared_ptr<void>(int ranks)> switch_on;  ///< stands until all ranks have ended
  std::function<void(engine_options&)> adjust;
};
inline machine& test_machine() {
  static machine one;
  return one;
}

namespace detail {

inline boost::asio::awaitable<void> live(engine& one, const rank_body& body) {
  communicator comm = co_await one.join();
  co_await body(comm);
  co_await one.close();
}

inline engine_options options_of(int rank, int ranks, const std::shared_ptr<rendezvous>& meeting, const links& how) {
  engine_options options;
  options.rank = rank;
  options.world_size = ranks;
  options.meeting = meeting;
  options.transport = how.over;
  options.job_key = "the key of a test";
  options.join_timeout = std::chrono::seconds(20);
  options.device = device_choice::host;
  if (test_machine().adjust) test_machine().adjust(options);
  if (how.adjust) how.adjust(options);
  return options;
}

}  // namespace detail

/// Runs `body` on every rank to its end and closes; what any rank throws is thrown here, the lowest rank's first.
inline void run_ranks(int ranks, const rank_body& body, const links& how = {}) {
  const auto power = test_machine().switch_on ? test_machine().switch_on(ranks) : nullptr;
  const auto meeting = make_in_process_rendezvous(ranks);
  std::vector<std::exception_ptr> problems(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      std::exception_ptr& problem = problems[static_cast<std::size_t>(rank)];
      try {
        boost::asio::io_context context(1);
        engine one(context.get_executor(), detail::options_of(rank, ranks, meeting, how));
        boost::asio::co_spawn(context, detail::live(one, body), [&](const std::exception_ptr& thrown) {
          problem = thrown;
          if (thrown) context.stop();
        });
        context.run();
      } catch (...) {
        problem = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& problem : problems)
    if (problem) std::rethrow_exception(problem);
}

}  // namespace weft::testing
