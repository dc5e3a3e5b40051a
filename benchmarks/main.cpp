// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "forked_ranks.hpp"
#include "measure.hpp"
#include "object_comparison.hpp"
#include "smoke.hpp"

#include <weft/engine/engine.hpp>
#include <weft/engine/error.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <unistd.h>

#include <chrono>
#include <exception>
#include <iostream>
#include <random>
#include <string>

namespace {

namespace asio = boost::asio;
using namespace weft::bench;

constexpr int failed = 1;
constexpr int bad_arguments = 2;

// Processes that are forked have that of the first.
const auto program_start = std::chrono::steady_clock::now();

double seconds_since_start() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - program_start).count();
}

// In one piece, because several ranks may complain at once.
int complain(int status, const std::string& what) {
  std::cerr << "weft-bench: " + what + '\n';
  return status;
}

asio::awaitable<void> live(weft::engine& one, const options& asked) {
  const double joining = seconds_since_start();
  weft::communicator comm = co_await one.join();
  const start_times start{joining, seconds_since_start()};
  std::optional<figures> measured;
  std::string table;
  if (asked.compare)
    table = co_await compare_objects(comm);
  else
    measured = co_await measure(comm, asked, start);
  co_await one.close();
  std::cout << table << std::flush;
  if (measured) std::cout << (asked.json ? to_json(*measured) : to_table(*measured)) << std::flush;
}

int run_rank(weft::engine_options own, const options& asked) {
  try {
    asio::io_context context(1);
    weft::engine one(context.get_executor(), std::move(own));
    std::exception_ptr problem;
    asio::co_spawn(context, live(one, asked), [&](const std::exception_ptr& thrown) {
      problem = thrown;
      if (thrown) context.stop();  // the links would keep the loop alive
    });
    context.run();
    if (problem) std::rethrow_exception(problem);
    return 0;
  } catch (const std::exception& problem) {
    return complain(failed, problem.what());
  }
}

/// 256 random bits in hexadecimal digits.
std::string fresh_job_key() {
  constexpr std::string_view digits = "0123456789abcdef";
  std::random_device source;
  std::uniform_int_distribution<std::size_t> any_digit(0, digits.size() - 1);
  std::string key(64, '0');
  for (char& each : key) each = digits[any_digit(source)];
  return key;
}

/// A job of this program's own, where nothing has launched it as a rank. What the environment says of transport and
/// device holds.
int run_own_job(const weft::engine_options& from_environment, options asked) {
  weft::engine_options job;
  job.transport = asked.transport.value_or(from_environment.transport);
  if (job.transport == weft::transport::automatic) job.transport = weft::transport::unix_socket;
  asked.transport = job.transport;
  job.shared_memory = from_environment.shared_memory;
  job.spin = from_environment.spin;
  job.device = from_environment.device;
  job.device_ordinal = from_environment.device_ordinal;
  job.world_size = asked.ranks.value_or(2);
  job.rendezvous_address = "unix:weft-bench-" + std::to_string(getpid());
  job.job_key = fresh_job_key();
  return run_forked_ranks(job.world_size, [&](int rank) {
    weft::engine_options own = job;
    own.rank = rank;
    // Ranks that leave the choice open must make the same one, also where there are fewer GPUs than ranks.
    if (own.device == weft::device_choice::cuda) own.device_ordinal += rank;
    return run_rank(std::move(own), asked);
  });
}

/// One rank of a job that something else has launched.
int run_launched(weft::engine_options own, options asked) {
  if (asked.ranks.value_or(own.world_size) != own.world_size)
    throw usage_error("--ranks " + std::to_string(*asked.ranks) + " contradicts the " + std::to_string(own.world_size) +
                      " ranks of the environment; leave it out");
  check_ranks(asked, own.world_size);
  own.transport = asked.transport.value_or(own.transport);
  asked.transport = own.transport;
  return run_rank(std::move(own), asked);
}

int run(const options& asked) {
  weft::engine_options from_environment;
  try {
    from_environment = weft::options_from_environment();
  } catch (const weft::error& problem) {
    return complain(bad_arguments, problem.what());
  }
  // A group of one is what no launcher at all looks like.
  return from_environment.world_size == 1 ? run_own_job(from_environment, asked)
                                          : run_launched(std::move(from_environment), asked);
}

int run(const smoke_request& asked) {
  if (!asked.only) return run_smoke();
  run_smoke_case(asked.only->name, asked.only->exchanges);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const auto parsed = parse_arguments({argv + (argc > 0 ? 1 : 0), argv + argc});
    if (const auto* asked = std::get_if<options>(&parsed)) return run(*asked);
    if (const auto* smoke = std::get_if<smoke_request>(&parsed)) return run(*smoke);
    std::cout << (std::holds_alternative<help_request>(parsed) ? help_text() : "weft-bench " + version_text() + "\n");
    return 0;
  } catch (const usage_error& problem) {
    return complain(bad_arguments, problem.what());
  } catch (const std::exception& problem) {
    return complain(failed, problem.what());
  }
}
