// SPDX-License-Identifier: Apache-2.0
// docs/index.md, "Awaiting": one operation under a coroutine of Asio's, a callback, and tasks, on the threads of a
// pool.
#include <weft/weft.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>

#include <iostream>
#include <syncstream>
#include <vector>

namespace {

boost::asio::awaitable<int> ask(weft::communicator comm, int question) {
  co_await weft::send_objects(comm, weft::to(comm.rank(), 1), question);
  auto [envelope, answer] = co_await weft::recv_objects<int>(comm, weft::from(weft::any_source, 1));
  co_return answer;
}

void print_what_comes(weft::communicator comm, std::vector<int>& numbers) {
  const auto print = [&numbers](boost::system::error_code code, const weft::received& result) {
    if (code)
      std::cerr << weft::describe(code, result.details) << '\n';
    else
      std::osyncstream(std::cout) << numbers.size() << " numbers from rank " << result.source << '\n';
  };
  comm.recv(numbers, weft::from(weft::any_source, 2))(print);
}

weft::coro::task<int> echo(weft::communicator comm, std::uint64_t tag, int number) {
  co_await weft::send_objects(comm, weft::to(comm.rank(), tag), number);
  auto [envelope, same] = co_await weft::recv_objects<int>(comm, weft::from(comm.rank(), tag));
  co_return same;
}

weft::coro::task<int> sum_of_two(weft::communicator comm) {
  auto [a, b] = co_await weft::coro::when_all(echo(comm, 3, 20), echo(comm, 4, 22));
  co_return a + b;
}

}  // namespace

int main() {
  std::vector<int> numbers(3);
  boost::asio::thread_pool pool(2);
  {
    weft::engine engine(pool.get_executor(), weft::options_from_environment());
    weft::communicator comm = boost::asio::co_spawn(pool, engine.join(), boost::asio::use_future).get();
    const int sum = weft::coro::sync_wait(sum_of_two(comm));  // not on a thread of the pool
    std::cout << "the sum is " << sum << '\n';

    print_what_comes(comm, numbers);
    const std::vector<int> three{1, 2, 3};
    comm.send(three, weft::to(comm.rank(), 2))(boost::asio::use_future).get();
    const int answer = boost::asio::co_spawn(pool, ask(comm, 42), boost::asio::use_future).get();
    std::osyncstream(std::cout) << "the answer is " << answer << '\n';
    boost::asio::co_spawn(pool, engine.close(), boost::asio::use_future).get();
  }
  pool.join();
}
