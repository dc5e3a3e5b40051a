// SPDX-License-Identifier: Apache-2.0
// One of two ranks, `stuck_rank device|pair`: rank 1 is stopped when it should send, and rank 0 does not wait for it
// for longer than `launch_timeout`. Both see the transfer aborted, and the next one succeed on a new communicator.
#include <weft/weft.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <exception>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace asio = boost::asio;
using namespace asio::experimental::awaitable_operators;

namespace {

constexpr std::chrono::milliseconds launch_timeout{200};
constexpr std::size_t numbers_sent = 1'000'000;  // more than a channel holds while nobody receives
constexpr std::uint64_t data_tag = 1;
constexpr std::uint64_t word_tag = 2;

void demand(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error("not so: " + what);
}

void demand_aborted(const boost::system::error_code& code) {
  demand(code == weft::errc::transfer_aborted, "the transfer is aborted; it ended as: " + code.message());
}

bool is_stopped(int process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string all((std::istreambuf_iterator<char>(file)), {});
  return all.find(") T ") != std::string::npos;
}

std::size_t opened(weft::communicator comm, weft::route route) {
  const auto stats = comm.stats();
  return route == weft::route::device ? stats.group_communicators : stats.pair_communicators.size();
}

asio::awaitable<void> exchange_once(weft::communicator comm, weft::route route) {
  std::vector<int> numbers(numbers_sent, 7);
  if (comm.rank() == 1) {
    co_await comm.send(numbers, weft::to(0, data_tag).via(route));
    co_return;
  }
  numbers.assign(numbers.size(), 0);
  co_await comm.recv(numbers, weft::from(1, data_tag));
  demand(numbers.front() == 7 && numbers.back() == 7, "the numbers are those that were sent");
}

/// What is announced goes through the log once it is matched, whether rank 1 is awake or not.
asio::awaitable<void> receive_from_stopped(weft::communicator comm) {
  auto [envelope, process] = co_await weft::recv_objects<int>(comm, weft::from(1, word_tag));
  co_await weft::send_objects(comm, weft::to(1, word_tag), 0);
  while (!is_stopped(process)) co_await asio::post(asio::use_awaitable);
  std::vector<int> numbers(numbers_sent);
  auto [code, result] = co_await comm.recv(numbers, weft::from(1, data_tag))(asio::as_tuple(asio::use_awaitable));
  ::kill(process, SIGCONT);
  demand_aborted(code);
}

asio::awaitable<void> send_into_abort(weft::communicator comm, weft::route route) {
  const std::vector<int> numbers(numbers_sent, 7);
  const auto where = weft::to(0, data_tag).via(route);
  auto [code, result] = co_await comm.send(numbers, where)(asio::as_tuple(asio::use_awaitable));
  demand_aborted(code);
}

asio::awaitable<void> stop_after_announcement(weft::communicator comm) {
  const int process = ::getpid();
  co_await weft::send_objects(comm, weft::to(0, word_tag), process);
  auto [envelope, word] = co_await weft::recv_objects<int>(comm, weft::from(0, word_tag));
  std::raise(SIGSTOP);
}

asio::awaitable<void> play(weft::engine& one, weft::route route) {
  weft::communicator comm = co_await one.join();
  co_await exchange_once(comm, route);
  if (comm.rank() == 0) {
    co_await receive_from_stopped(comm);
  } else {
    co_await (send_into_abort(comm, route) && stop_after_announcement(comm));
  }
  co_await exchange_once(comm, route);
  const std::size_t communicators = route == weft::route::device ? 2 : 1;  // pairs that are gone are not counted
  demand(opened(comm, route) == communicators, "there is a new communicator, and the old one is gone");
  co_await one.close();
}

int run(weft::route route) {
  weft::engine_options options = weft::options_from_environment();
  options.launch_timeout = launch_timeout;
  asio::io_context context(1);
  weft::engine one(context.get_executor(), options);
  std::exception_ptr problem;
  asio::co_spawn(context, play(one, route), [&](const std::exception_ptr& thrown) {
    problem = thrown;
    context.stop();
  });
  context.run();
  if (problem) std::rethrow_exception(problem);
  std::cout << "aborted, and gone on\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const auto route = weft::parse_route(argc > 1 ? argv[1] : "");
    if (!route) throw std::invalid_argument("usage: stuck_rank device|pair");
    return run(*route);
  } catch (const std::exception& problem) {
    std::cerr << problem.what() << '\n';
    return 1;
  }
}
