// SPDX-License-Identifier: Apache-2.0
// Joining that fails, and what an engine says meanwhile.
#include <weft/engine/engine.hpp>
#include <weft/engine/error.hpp>

#include <doctest/doctest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <unistd.h>

#include <chrono>
#include <string>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using weft::errc;

namespace {

asio::awaitable<boost::system::error_code> code_of_join(weft::engine& one) {
  try {
    (void)co_await one.join();
  } catch (const weft::error& problem) {
    CHECK(std::string(problem.what()).find(problem.code().message() + " [") == std::string::npos);
    co_return problem.code();
  }
  co_return boost::system::error_code{};
}

/// A rank whose only other one never comes.
weft::engine_options lonely() {
  weft::engine_options options;
  options.world_size = 2;
  options.meeting = weft::make_in_process_rendezvous(2);
  options.job_key = "key";
  options.transport = weft::transport::tcp;
  options.listen_host = "127.0.0.1";
  options.join_timeout = 20ms;
  return options;
}

}  // namespace

TEST_CASE("an engine joins once, also where that failed or it was closed") {
  asio::io_context context(1);
  weft::engine alone(context.get_executor(), weft::engine_options{});
  weft::engine waiting(context.get_executor(), lonely());
  const auto work = [&]() -> asio::awaitable<void> {
    const auto first = co_await code_of_join(alone);
    CHECK_FALSE(first);
    const auto second = co_await code_of_join(alone);
    CHECK(second == errc::already_joined);
    co_await alone.close();
    const auto closed = co_await code_of_join(alone);
    CHECK(closed == errc::already_joined);
    const auto failed = co_await code_of_join(waiting);
    CHECK(failed == errc::rendezvous_timed_out);
    const auto again = co_await code_of_join(waiting);
    CHECK(again == errc::already_joined);
  };
  asio::co_spawn(context, work, [](const std::exception_ptr& thrown) { CHECK_FALSE(thrown); });
  context.run();
}

TEST_CASE("after a join that failed nothing keeps the executor busy") {
  asio::io_context context(1);
  weft::engine one(context.get_executor(), lonely());
  boost::system::error_code code;
  asio::co_spawn(context, code_of_join(one),
                 [&](const std::exception_ptr&, const boost::system::error_code& result) { code = result; });
  context.run_for(60s);
  CHECK(context.stopped());
  CHECK(code == errc::rendezvous_timed_out);
}

TEST_CASE("rank 0 logs at once who was refused at the rendezvous") {
  asio::io_context context(1);
  std::string said;
  weft::engine_options options;
  options.world_size = 2;
  options.rendezvous_address = "unix:weft-join-test-" + std::to_string(::getpid());
  options.job_key = "right";
  options.log = [&](weft::log_level level, std::string_view line) {
    if (level != weft::log_level::warning) return;
    said = line;
    context.stop();
  };
  weft::engine zero(context.get_executor(), options);
  options.rank = 1;
  options.job_key = "wrong";
  options.log = {};
  weft::engine one(context.get_executor(), options);
  asio::co_spawn(context, code_of_join(zero), [](const std::exception_ptr&, const boost::system::error_code&) {});
  asio::co_spawn(context, code_of_join(one), [](const std::exception_ptr&, const boost::system::error_code& result) {
    CHECK(result == errc::authentication_failed);
  });
  context.run_for(60s);
  CHECK(said.find("refused process " + std::to_string(::getpid())) == 0);
}
