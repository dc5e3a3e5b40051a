// SPDX-License-Identifier: Apache-2.0
// Rank 0 says what comes as typed objects, then sends it as a buffer. Run it with: weft-run -n 2 readme
#include <weft/weft.hpp>

#include <iostream>

boost::asio::awaitable<int> body(weft::communicator comm, std::vector<std::string>) {
  if (comm.rank() == 0) {
    const std::string name = "weights";
    const std::vector<float> values(1'000'000, 0.5F);
    co_await weft::send_objects(comm, weft::to(1, 0), name, values.size());
    co_await comm.send(values, weft::to(1, 1));
  } else if (comm.rank() == 1) {
    auto [envelope, name, count] = co_await weft::recv_objects<std::string, std::size_t>(comm, weft::from(0, 0));
    std::vector<float> values(count);
    co_await comm.recv(values, weft::from(0, 1));
    std::cout << name << ": " << count << " floats from rank " << envelope.source << '\n';
  }
  co_return 0;
}

int main(int argc, char** argv) {
  return weft::run(argc, argv, body);
}
