// SPDX-License-Identifier: Apache-2.0
// docs/index.md, "Awaiting a GPU", on the strict model of one.
#include <cuda_model/world.hpp>

#include <weft/coro/cuda/poller.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <cstddef>
#include <iostream>
#include <vector>

namespace {

boost::asio::awaitable<void> fill(weft::coro::cuda::poller& poller, cudaStream_t stream, void* memory) {
  cudaMemsetAsync(memory, 7, 1000, stream);  // or a kernel of yours
  co_await poller.when_done(stream);
}

int sum_of(const std::vector<std::byte>& bytes) {
  int sum = 0;
  for (const std::byte each : bytes) sum += std::to_integer<int>(each);
  return sum;
}

}  // namespace

int main() {
  cuda_model::world world(1);
  cudaSetDevice(0);
  cudaStream_t stream = nullptr;
  void* memory = nullptr;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaMalloc(&memory, 1000);
  boost::asio::io_context context;

  weft::coro::cuda::poller poller(context.get_executor());
  auto filled = boost::asio::co_spawn(context, fill(poller, stream, memory), boost::asio::use_future);
  context.run();
  filled.get();

  std::cout << "the bytes add up to " << sum_of(world.read(memory, 1000)) << '\n';
}
