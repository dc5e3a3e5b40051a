// SPDX-License-Identifier: Apache-2.0
// A program outside of weft: two ranks, each a thread with an engine of its own, exchange an object.
#include <weft/engine/version.hpp>
#include <weft/weft.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

boost::asio::awaitable<void> live(weft::engine& engine) {
  weft::communicator comm = co_await engine.join();
  if (comm.rank() == 0) {
    const std::vector<std::string> words{"one", "two"};
    co_await weft::send_objects(comm, weft::to(1, 0), words);
  } else {
    auto [envelope, words] = co_await weft::recv_objects<std::vector<std::string>>(comm, weft::from(0, 0));
    std::cout << "weft " << weft::version_major << '.' << weft::version_minor << '.' << weft::version_patch
              << " brought " << words.size() << " words\n";
  }
  co_await engine.close();
}

void run_rank(int rank, std::shared_ptr<weft::rendezvous> meeting) {
  weft::engine_options options;
  options.rank = rank;
  options.world_size = 2;
  options.meeting = std::move(meeting);
  boost::asio::io_context context(1);
  weft::engine engine(context.get_executor(), options);
  boost::asio::co_spawn(context, live(engine), [](const std::exception_ptr& problem) {
    if (problem) std::rethrow_exception(problem);
  });
  context.run();
}

}  // namespace

int main() {
  const auto meeting = weft::make_in_process_rendezvous(2);
  std::thread other(run_rank, 1, meeting);
  run_rank(0, meeting);
  other.join();
}
