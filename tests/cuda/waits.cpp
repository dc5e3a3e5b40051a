// SPDX-License-Identifier: Apache-2.0
// Three ways to know that a stream is done, the last two of them from a coroutine.
#include "durations.hpp"
#include "handles.hpp"

#include <weft/coro/cuda/poller.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <exception>

namespace weft::gpu {
namespace {

namespace asio = boost::asio;

constexpr std::size_t set_bytes = 1024;

/// A stream that is given a little work in each round.
struct worker {
  worker() = default;
  worker(const worker&) = delete;
  worker& operator=(const worker&) = delete;
  /// A host function that has handed over may still be on the stream.
  ~worker() { (void)cudaStreamSynchronize(stream.get()); }

  void start() const { demand(cudaMemsetAsync(memory.get(), 1, set_bytes, stream.get()), "cudaMemsetAsync"); }
  void start_and_record() const {
    start();
    demand(cudaEventRecord(event.get(), stream.get()), "cudaEventRecord");
  }

  owned_stream stream = new_stream();
  owned_event event = new_event();
  device_memory memory = new_device_memory(set_bytes);
};

/// Completes once the stream has come to it: the host function posts the handler to its executor.
template <class Token>
auto when_called(asio::io_context& context, cudaStream_t stream, Token token) {
  const auto initiate = [&context, stream](auto handler) {
    struct call {
      asio::io_context& context;
      decltype(handler) then;
    };
    const auto deliver = [](void* given) {
      const std::unique_ptr<call> self(static_cast<call*>(given));
      asio::post(self->context, std::move(self->then));
    };
    auto made = std::make_unique<call>(call{context, std::move(handler)});
    demand(cudaLaunchHostFunc(stream, deliver, made.get()), "cudaLaunchHostFunc");
    (void)made.release();  // the function's
  };
  return asio::async_initiate<Token, void()>(initiate, token);
}

asio::awaitable<void> call_rounds(asio::io_context& context, const worker& on, durations& taken) {
  while (!taken.complete()) {
    const auto before = durations::clock::now();
    on.start();
    co_await when_called(context, on.stream.get(), asio::use_awaitable);
    taken.add_since(before);
  }
}

asio::awaitable<void> poll_rounds(coro::cuda::poller& poller, const worker& on, durations& taken) {
  while (!taken.complete()) {
    const auto before = durations::clock::now();
    on.start_and_record();
    co_await poller.when_done(on.event.get());
    taken.add_since(before);
  }
}

void run(asio::io_context& context, asio::awaitable<void> rounds) {
  // What the rounds wait for comes from other threads, and the context has no other work meanwhile.
  const auto work = asio::make_work_guard(context);
  std::exception_ptr problem;
  asio::co_spawn(context, std::move(rounds), [&](const std::exception_ptr& thrown) {
    problem = thrown;
    context.stop();
  });
  context.run();
  if (problem) std::rethrow_exception(problem);
}

}  // namespace

durations waits_by_synchronize(std::size_t rounds) {
  const worker on;
  durations taken(rounds);
  while (!taken.complete()) {
    const auto before = durations::clock::now();
    on.start_and_record();
    demand(cudaEventSynchronize(on.event.get()), "cudaEventSynchronize");
    taken.add_since(before);
  }
  return taken;
}

durations waits_by_host_function(std::size_t rounds) {
  const worker on;
  durations taken(rounds);
  asio::io_context context;
  run(context, call_rounds(context, on, taken));
  return taken;
}

durations waits_by_poller(std::size_t rounds) {
  const worker on;
  durations taken(rounds);
  asio::io_context context;
  coro::cuda::poller poller(context.get_executor());
  run(context, poll_rounds(poller, on, taken));
  return taken;
}

}  // namespace weft::gpu
