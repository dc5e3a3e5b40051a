// SPDX-License-Identifier: Apache-2.0
// One rank of the jobs of loss_test.cpp: `loss_rank <scenario> [route]`. It prints how its operations ended.
#include <weft/weft.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <csignal>
#include <exception>
#include <iostream>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace asio = boost::asio;

namespace {

constexpr std::chrono::milliseconds short_patience{1000};
constexpr std::uint64_t ready_tag = 9;

void print(const std::string& what, const boost::system::error_code& code, const weft::operation_details& details) {
  std::cout << what << ": " << (code ? weft::describe(code, details) : "done") << std::endl;
}

/// Large enough for a stream, except on the inline route, whose sends wait for their match.
std::vector<int> payload(weft::route route) {
  return std::vector<int>(route == weft::route::inlined ? 100 : 300'000, 5);
}

/// One tag for each route, so that a message that was never sent is not mistaken for that of the next round.
std::uint64_t tag_of(weft::route route) {
  return 10 + static_cast<std::uint64_t>(route);
}

weft::destination at(int rank, weft::route route) {
  return weft::to(rank, tag_of(route)).via(route).until(weft::matched);
}

/// Every rank but `absent` passes a message on to the next.
asio::awaitable<void> go_round(weft::communicator comm, int absent, weft::route route, std::string what) {
  const int next = (comm.rank() + 1) % comm.size();
  const int previous = (comm.rank() + comm.size() - 1) % comm.size();
  const auto mine = payload(route);
  std::vector<int> theirs(mine.size());
  weft::batch both;
  if (next != absent) both.send(mine, at(next, route));
  if (previous != absent) both.recv(theirs, weft::from(previous, tag_of(route)));
  auto [code, result] = co_await comm.batch(both)(asio::as_tuple(asio::use_awaitable));
  weft::operation_details failed;
  for (const weft::batch_entry& entry : result.entries)
    if (entry.code == code) failed = entry.details;
  print(what, code, failed);
}

/// Announces a send to `goer` and a receive from it, and returns when both have ended.
asio::awaitable<void> outlive(weft::communicator comm, int goer, weft::route route) {
  const auto mine = payload(route);
  std::vector<int> theirs(mine.size());
  const int ready = 1;
  weft::batch all;
  all.send(mine, at(goer, route)).recv(theirs, weft::from(goer, 2));
  all.send(std::span(&ready, 1), weft::to(goer, ready_tag));
  auto [code, result] = co_await comm.batch(all)(asio::as_tuple(asio::use_awaitable));
  (void)code;
  print("send", result.entries[0].code, result.entries[0].details);
  print("receive", result.entries[1].code, result.entries[1].details);
  auto [later, details] = co_await comm.send(mine, at(goer, route))(asio::as_tuple(asio::use_awaitable));
  print("later send", later, details.details);
}

/// `goer` waits until all others wait for it; whatever it does then, they see.
asio::awaitable<void> await_others(weft::communicator comm) {
  for (int others = comm.size() - 1; others > 0; --others) {
    int ready = 0;
    co_await comm.recv(std::span(&ready, 1), weft::from(weft::any_source, ready_tag));
  }
}

asio::awaitable<void> lose(weft::communicator comm, int goer, bool killed, weft::route route) {
  co_await go_round(comm, -1, route, "together");
  if (comm.rank() == goer) {
    co_await await_others(comm);
    if (killed) std::raise(SIGKILL);
    co_return;
  }
  co_await outlive(comm, goer, route);
  co_await go_round(comm, goer, route, "without it");
}

/// Rank 0 orders the transfers of two routes; the others do without it.
asio::awaitable<void> lose_sequencer(weft::communicator comm) {
  co_await go_round(comm, -1, weft::route::device, "together");
  if (comm.rank() == 0) {
    co_await await_others(comm);
    std::raise(SIGKILL);
  }
  co_await outlive(comm, 0, weft::route::host);
  // Sends alone: a receive names no route, and would wait for a message that was never sent.
  const int other = 3 - comm.rank();
  for (const auto route : {weft::route::device, weft::route::pair}) {
    const auto mine = payload(route);
    auto [code, result] = co_await comm.send(mine, at(other, route))(asio::as_tuple(asio::use_awaitable));
    print(std::string(weft::name(route)), code, result.details);
  }
  co_await go_round(comm, 0, weft::route::host, "host");
  co_await go_round(comm, 0, weft::route::inlined, "inline");
}

asio::awaitable<void> play(weft::communicator comm, std::string scenario, weft::route route) {
  if (scenario == "killed") co_await lose(comm, comm.size() - 1, true, route);
  if (scenario == "leaves") co_await lose(comm, comm.size() - 1, false, route);
  if (scenario == "sequencer") co_await lose_sequencer(comm);
}

asio::awaitable<void> live(weft::engine& one, std::string scenario, weft::route route) {
  weft::communicator comm = co_await one.join();
  co_await play(comm, scenario, route);
  co_await one.close();
  std::cout << "closed" << std::endl;
}

/// As `weft::run`, with less patience for ranks that never come.
int meet_briefly() {
  weft::engine_options options = weft::options_from_environment();
  options.join_timeout = short_patience;
  asio::io_context context(1);
  weft::engine one(context.get_executor(), options);
  std::exception_ptr problem;
  asio::co_spawn(context, live(one, "", weft::route::automatic), [&](const std::exception_ptr& thrown) {
    problem = thrown;
    context.stop();
  });
  context.run();
  if (problem) std::rethrow_exception(problem);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string scenario = argc > 1 ? argv[1] : "";
  if (scenario == "meet") {
    try {
      return meet_briefly();
    } catch (const weft::error& problem) {
      std::cout << problem.code().message() << ": " << problem.what() << std::endl;
      return 1;
    }
  }
  return weft::run(argc, argv, [](weft::communicator comm, std::vector<std::string> words) -> asio::awaitable<int> {
    const auto route = words.size() > 1 ? weft::parse_route(words[1]) : weft::route::host;
    if (!route) throw std::invalid_argument("no route is called " + words[1]);
    if (words[0] == "round")
      co_await go_round(comm, -1, *route, "round");
    else
      co_await play(comm, words[0], *route);
    co_return 0;
  });
}
