// SPDX-License-Identifier: Apache-2.0
// Engines on an executor of many threads, and several engines on one executor.
#include "shared_executor.hpp"

#include <doctest/doctest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>

#include <array>
#include <future>
#include <vector>

namespace asio = boost::asio;
using weft::testing::group;
using weft::testing::thread_count;
using weft::testing::threaded_context;

namespace {

constexpr std::array routes{weft::route::inlined, weft::route::host, weft::route::device, weft::route::pair};
constexpr std::uint64_t lanes = 3;  // conversations of two ranks at once, on each route
constexpr int messages = 8;         // of each conversation, one after the other

/// One way of a conversation: who talks to whom, how, and what distinguishes it from all others.
struct direction {
  int source;
  int destination;
  weft::route route;
  std::uint64_t tag;
  int salt;  // of the group
};

std::vector<int> content(const direction& way, int number) {
  const int mark = ((way.salt * 10 + way.source) * 10 + way.destination) * 1000 + static_cast<int>(way.tag);
  return std::vector<int>(500 + 10 * static_cast<std::size_t>(number), mark * messages + number);
}

asio::awaitable<int> send_all(weft::communicator comm, direction way) {
  for (int number = 0; number < messages; ++number) {
    const std::vector<int> text = content(way, number);
    co_await comm.send(text, weft::to(way.destination, way.tag).via(way.route));
  }
  co_return 0;
}

/// How many of the messages were not what had been sent.
asio::awaitable<int> receive_all(weft::communicator comm, direction way) {
  int wrong = 0;
  for (int number = 0; number < messages; ++number) {
    const std::vector<int> expected = content(way, number);
    std::vector<int> text(expected.size());
    const weft::received got = co_await comm.recv(text, weft::from(way.source, way.tag));
    wrong += text != expected || got.source != way.source;
  }
  co_return wrong;
}

using results = std::vector<std::future<int>>;

/// Everyone talks to everyone, itself included, on all routes and lanes at once.
void talk(const group& all, const asio::any_io_executor& executor, int salt, results& wrong) {
  const int ranks = static_cast<int>(all.communicators.size());
  for (int source = 0; source < ranks; ++source)
    for (int destination = 0; destination < ranks; ++destination)
      for (const weft::route route : routes)
        for (std::uint64_t lane = 0; lane < lanes; ++lane) {
          const direction way{source, destination, route, lanes * static_cast<std::uint64_t>(route) + lane, salt};
          const auto& sender = all.communicators[static_cast<std::size_t>(source)];
          const auto& receiver = all.communicators[static_cast<std::size_t>(destination)];
          wrong.push_back(asio::co_spawn(executor, send_all(sender, way), asio::use_future));
          wrong.push_back(asio::co_spawn(executor, receive_all(receiver, way), asio::use_future));
        }
}

int sum(results& of) {
  int all = 0;
  for (auto& one : of) all += one.get();
  return all;
}

/// A group of three on the executor, from its beginning to its end.
int wrong_messages_on(const asio::any_io_executor& executor) {
  group three(3, executor);
  results wrong;
  talk(three, executor, 1, wrong);
  const int count = sum(wrong);
  three.close();
  return count;
}

}  // namespace

TEST_CASE("an engine on an io_context of four threads serves many coroutines at once") {
  threaded_context server;
  CHECK(wrong_messages_on(server.context.get_executor()) == 0);
}

TEST_CASE("an engine runs on a thread pool") {
  asio::thread_pool pool(thread_count);
  CHECK(wrong_messages_on(pool.get_executor()) == 0);
  pool.join();
}

TEST_CASE("engines of several groups share a process and an io_context without meeting each other") {
  threaded_context server;
  const auto executor = server.context.get_executor();
  group three(3, executor);
  group two(2, executor);
  group alone(1, executor);
  results wrong;
  talk(three, executor, 1, wrong);
  talk(two, executor, 2, wrong);
  talk(alone, executor, 3, wrong);
  CHECK(sum(wrong) == 0);
  // One group ends, and the others do not notice.
  two.close();
  results later;
  talk(three, executor, 4, later);
  CHECK(sum(later) == 0);
  alone.close();
  three.close();
}
