// SPDX-License-Identifier: Apache-2.0
// The README's "In your own program": an engine on the loop of the program. A group of one talks to itself.
#include <weft/weft.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>
#include <iostream>
#include <numeric>
#include <string_view>
#include <vector>

namespace {

boost::asio::awaitable<int> sum_from_oneself(weft::communicator comm) {
  const std::vector<int> numbers{1, 2, 3, 4};
  std::vector<int> received(numbers.size());
  weft::batch both;
  both.send(numbers, weft::to(comm.rank(), 7)).recv(received, weft::from(comm.rank(), 7));
  co_await comm.batch(both);
  co_return std::accumulate(received.begin(), received.end(), 0);
}

void rethrow(const std::exception_ptr& problem) {
  if (problem) std::rethrow_exception(problem);
}

}  // namespace

int main() {
  boost::asio::io_context context;
  weft::engine_options options = weft::options_from_environment();
  options.eager_limit = 4096;
  options.log = [](weft::log_level, std::string_view line) { std::cerr << line << '\n'; };
  weft::engine engine(context.get_executor(), options);

  const auto live = [&engine]() -> boost::asio::awaitable<void> {
    // in a coroutine that runs on it
    weft::communicator comm = co_await engine.join();
    const int sum = co_await sum_from_oneself(comm);
    std::cout << "the sum is " << sum << '\n';
    co_await engine.close();
  };
  boost::asio::co_spawn(context, live, rethrow);
  context.run();
}
