// SPDX-License-Identifier: Apache-2.0
// Ranks that meet in a Redis server, through a rendezvous that is written as a user would write one.
#include "redis_rendezvous.hpp"

#include "../support/ranks.hpp"
#include "../support/spawned_program.hpp"

#include <weft/engine/objects.hpp>

#include <doctest/doctest.h>

#include <boost/asio/use_future.hpp>

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <future>
#include <iostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using weft::testing::redis_rendezvous;
using weft::testing::run_ranks;

namespace {

constexpr int exit_status_of_skipped = 77;  // CTest and Meson are told
constexpr const char* redis_server = "/usr/bin/redis-server";

std::string make_folder() {
  if (access(redis_server, X_OK) != 0) {
    std::cout << "skipped: " << redis_server << " is not there (Debian: redis-server)" << std::endl;
    std::exit(exit_status_of_skipped);
  }
  std::string folder = (std::filesystem::temp_directory_path() / "weft-redis-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error("cannot make a folder for redis-server");
  return folder;
}

/// A server of this test alone, which keeps nothing.
class redis {
 public:
  redis() {
    for (std::string line = server_.read_line(); line.find("ready to accept connections at") == std::string::npos;
         line = server_.read_line())
      if (line.empty()) throw std::runtime_error("redis-server ended before it was ready");
  }
  redis(const redis&) = delete;
  redis& operator=(const redis&) = delete;
  ~redis() {
    server_.signal(SIGTERM);
    (void)server_.finish();
    std::filesystem::remove_all(folder_);
  }

  [[nodiscard]] std::string path() const { return folder_ + "/socket"; }

 private:
  std::string folder_ = make_folder();
  weft::test::spawned_program server_{{redis_server, "--port", "0", "--unixsocket", folder_ + "/socket", "--dir",
                                       folder_, "--save", "", "--daemonize", "no", "--always-show-logo", "no"}};
};

/// Each rank has a rendezvous of its own, as if it were a process: they share nothing but the store.
weft::testing::links meeting_in(const redis& store, const std::string& job) {
  weft::testing::links how;
  how.adjust = [path = store.path(), job](weft::engine_options& options) {
    options.meeting = std::make_shared<redis_rendezvous>(path, job);
  };
  return how;
}

asio::awaitable<void> pass_on(weft::communicator comm) {
  const int next = (comm.rank() + 1) % comm.size();
  const int previous = (comm.rank() + comm.size() - 1) % comm.size();
  const int mine = comm.rank();
  co_await weft::send_objects(comm, weft::to(next, 1), mine);
  auto [envelope, got] = co_await weft::recv_objects<int>(comm, weft::from(previous, 1));
  if (got != previous) throw std::logic_error("a message of another rank");
}

/// Meets alone as one rank of three, briefly.
weft::error failure_of(const redis& store, const std::string& job, int rank) {
  weft::engine_options options;
  options.rank = rank;
  options.world_size = 3;
  options.meeting = std::make_shared<redis_rendezvous>(store.path(), job);
  options.join_timeout = std::chrono::milliseconds(500);
  asio::io_context context(1);
  weft::engine one(context.get_executor(), options);
  std::exception_ptr problem;
  asio::co_spawn(context, one.join(), [&](const std::exception_ptr& thrown, const weft::communicator&) {
    problem = thrown;
    context.stop();
  });
  context.run();
  if (!problem) throw std::logic_error("a rank joined alone");
  try {
    std::rethrow_exception(problem);
  } catch (const weft::error& as_expected) {
    return as_expected;
  }
}

}  // namespace

TEST_CASE("ranks meet in a store of the user's, job beside job, over and over") {
  const redis store;
  for (const std::string job : {"first", "second"}) run_ranks(4, pass_on, meeting_in(store, job));
}

TEST_CASE("a deadline in a user's rendezvous reaches the user with its names") {
  const redis store;
  const weft::error problem = failure_of(store, "lonely", 1);
  CHECK(problem.code() == weft::errc::rendezvous_timed_out);
  CHECK(std::string(problem.what()).find("did not come within 500 ms: rank 0 2") != std::string::npos);
}

TEST_CASE("two processes of one rank are told so by a user's rendezvous") {
  const redis store;
  asio::io_context context(1);
  redis_rendezvous first(store.path(), "twins");
  auto waiting =
      asio::co_spawn(context, first.exchange(1, 3, "a card", std::chrono::milliseconds(2000)), asio::use_future);
  // Until its card is in the store.
  const auto in_store = [&]() -> asio::awaitable<bool> {
    weft::testing::redis_connection reader(co_await asio::this_coro::executor);
    co_await reader.open(store.path());
    std::vector<std::string> command{"GET", "twins:1"};
    const auto found = co_await reader.ask(std::move(command));
    co_return found.front().has_value();
  };
  for (bool there = false; !there;) {
    auto look = asio::co_spawn(context, in_store(), asio::use_future);
    while (look.wait_for(std::chrono::seconds(0)) != std::future_status::ready) context.run_one();
    there = look.get();
  }
  const weft::error problem = failure_of(store, "twins", 1);
  CHECK(problem.code() == weft::errc::rendezvous_conflict);
  CHECK(std::string(problem.what()).find("\"twins:1\" is there already") != std::string::npos);
  context.run();
  CHECK_THROWS_AS((void)waiting.get(), weft::error);
}
