// SPDX-License-Identifier: Apache-2.0
// A rank that sends to itself: by the engine, and by NCCL as a program without weft would.
#include "durations.hpp"
#include "handles.hpp"

#include <weft/engine/engine.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>

namespace weft::gpu {
namespace {

namespace asio = boost::asio;

/// For both buffers, with what lies between them.
constexpr std::size_t pool_bytes = std::size_t{256} << 20;

std::vector<std::byte> read(const void* memory, std::size_t bytes) {
  const owned_stream stream = new_stream();
  std::vector<std::byte> seen(bytes);
  demand(cudaMemcpyAsync(seen.data(), memory, bytes, cudaMemcpyDeviceToHost, stream.get()), "cudaMemcpyAsync");
  demand(cudaStreamSynchronize(stream.get()), "cudaStreamSynchronize");
  return seen;
}

void write(void* memory, const std::vector<std::byte>& bytes) {
  const owned_stream stream = new_stream();
  demand(cudaMemcpyAsync(memory, bytes.data(), bytes.size(), cudaMemcpyHostToDevice, stream.get()), "cudaMemcpyAsync");
  demand(cudaStreamSynchronize(stream.get()), "cudaStreamSynchronize");
}

void check(const void* memory, std::size_t bytes) {
  if (read(memory, bytes) != pattern(bytes)) throw std::runtime_error("the bytes that arrived are not those sent");
}

asio::awaitable<void> exchange_rounds(communicator comm, std::size_t bytes, durations& taken) {
  const device_buffer source = comm.device_buffer(bytes);
  const device_buffer target = comm.device_buffer(bytes);
  write(source.data(), pattern(bytes));
  while (!taken.complete()) {
    const auto before = durations::clock::now();
    batch both;
    both.send(source, to(0, 1).via(route::device)).recv(target, from(0, 1));
    co_await comm.batch(both);
    taken.add_since(before);
  }
  check(target.data(), bytes);
}

asio::awaitable<void> live(engine& one, std::size_t bytes, durations& taken) {
  communicator comm = co_await one.join();
  co_await exchange_rounds(comm, bytes, taken);
  co_await one.close();
}

}  // namespace

durations exchanges_by_nccl(const measured_exchange& asked) {
  const device_memory source = new_device_memory(asked.bytes);
  const device_memory target = new_device_memory(asked.bytes);
  const owned_stream stream = new_stream();
  write(source.get(), pattern(asked.bytes));
  lone_communicator one(lone_communicator::mode::blocking);
  demand(one.created(), "ncclCommInitRankConfig");
  durations taken(asked.rounds);
  while (!taken.complete()) {
    const auto before = durations::clock::now();
    demand(ncclGroupStart(), "ncclGroupStart");
    demand(one.send(source.get(), asked.bytes, stream.get()), "ncclSend");
    demand(one.receive(target.get(), asked.bytes, stream.get()), "ncclRecv");
    demand(ncclGroupEnd(), "ncclGroupEnd");
    demand(cudaStreamSynchronize(stream.get()), "cudaStreamSynchronize");
    taken.add_since(before);
  }
  check(target.get(), asked.bytes);
  demand(one.end_by_destroy(), "ncclCommDestroy");
  return taken;
}

durations exchanges_by_engine(const measured_exchange& asked) {
  engine_options options;
  options.device = device_choice::cuda;
  options.device_pool_bytes = pool_bytes;
  durations taken(asked.rounds);
  asio::io_context context(1);
  engine one(context.get_executor(), options);
  std::exception_ptr problem;
  asio::co_spawn(context, live(one, asked.bytes, taken), [&](const std::exception_ptr& thrown) {
    problem = thrown;
    if (thrown) context.stop();
  });
  context.run();
  if (problem) std::rethrow_exception(problem);
  return taken;
}

}  // namespace weft::gpu
