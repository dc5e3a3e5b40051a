// SPDX-License-Identifier: Apache-2.0
// docs/cuda-device.md, "NCCL calls of your own"; there are none, so that it runs on the host device, too.
#include <weft/weft.hpp>

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <iostream>
#include <string>
#include <vector>

namespace {

void launch_all_reduce() {
  std::cout << "launched under a lease, ";
}

boost::asio::awaitable<void> end_of_stream() {
  co_await boost::asio::post(boost::asio::use_awaitable);
}

boost::asio::awaitable<void> reduce(weft::communicator tensor_parallel) {
  const weft::launch_lease lease = co_await tensor_parallel.launch_lease();
  launch_all_reduce();       // ncclAllReduce on a communicator and a stream of the application's
  co_await end_of_stream();  // before the lease ends
}

boost::asio::awaitable<int> body(weft::communicator comm, std::vector<std::string>) {
  co_await reduce(comm);
  std::cout << "and given back\n";
  co_return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return weft::run(argc, argv, body);
}
