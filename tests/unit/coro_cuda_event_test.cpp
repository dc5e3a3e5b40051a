// SPDX-License-Identifier: Apache-2.0
// Awaiting CUDA events and streams, over the strict model.
#include "cuda_model_ranks.hpp"

#include <weft/coro/cuda/poller.hpp>
#include <weft/coro/sync_wait.hpp>
#include <weft/coro/task.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <chrono>
#include <future>
#include <optional>
#include <thread>
#include <utility>

namespace {

using namespace cuda_model_test;
using namespace std::chrono_literals;
using cuda_model::world;
namespace asio = boost::asio;
namespace cuda = weft::coro::cuda;
namespace rules = cuda_model::rules;

static_assert(weft::coro::awaitable<cuda::wait_operation>);

/// One device, with a stream that holds still until `finish`.
struct held_stream {
  held_stream() {
    all.bind(0);
    stream = new_stream();
    all.hold(0);
    CHECK(cudaMemsetAsync(device_memory(8), 1, 8, stream) == cudaSuccess);
  }

  /// The stream is done when this returns.
  void finish() {
    all.release(0);
    CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
  }

  world all{1};
  cudaStream_t stream = nullptr;
  asio::io_context context;
};

TEST_CASE_FIXTURE(held_stream, "a task of any type waits for a stream, and goes on in the poller's executor") {
  cuda::poller poller(context.get_executor());
  std::optional<std::thread::id> resumed;
  auto wait = [&]() -> weft::coro::task<> {
    co_await poller.when_done(stream);
    resumed = std::this_thread::get_id();
  };
  std::thread waiter([&] {
    all.bind(0);
    weft::coro::sync_wait(wait());
  });
  while (all.calls("cudaEventRecord") == 0) std::this_thread::yield();
  CHECK_FALSE(resumed);
  finish();
  context.run();
  waiter.join();
  CHECK(resumed == std::this_thread::get_id());
  CHECK(all.report() == "");
}

TEST_CASE_FIXTURE(held_stream, "an Asio coroutine waits for an event") {
  cuda::poller poller(context.get_executor());
  const cudaEvent_t event = new_event();
  CHECK(cudaEventRecord(event, stream) == cudaSuccess);
  bool done = false;
  auto wait = [&]() -> asio::awaitable<void> {
    co_await poller.when_done(event);
    done = cudaEventQuery(event) == cudaSuccess;
    co_await poller.when_done(event);  // still done
  };
  auto result = asio::co_spawn(context, wait(), asio::use_future);
  context.poll();
  CHECK_FALSE(done);
  finish();
  context.run();
  result.get();
  CHECK(done);
  CHECK(all.report() == "");
}

TEST_CASE_FIXTURE(held_stream, "a handler is called in its own executor, and futures work too") {
  cuda::poller poller(context.get_executor());
  asio::io_context other;
  std::optional<std::thread::id> called;
  poller.when_done(stream)(asio::bind_executor(other, [&](boost::system::error_code code, cuda::reached) {
    CHECK(!code);
    called = std::this_thread::get_id();
  }));
  auto future = poller.when_done(stream)(asio::use_future);
  std::thread runner([&] { context.run(); });
  finish();
  future.get();
  CHECK_FALSE(called);
  other.run();
  runner.join();
  CHECK(called == std::this_thread::get_id());
  CHECK(all.report() == "");
}

TEST_CASE_FIXTURE(held_stream, "a wait ends early when it is cancelled, and its event may be destroyed then") {
  cuda::poller poller(context.get_executor());
  const cudaEvent_t event = new_event();
  CHECK(cudaEventRecord(event, stream) == cudaSuccess);
  asio::cancellation_signal signal;
  int cancelled = 0;
  const auto count = [&](boost::system::error_code code, cuda::reached) {
    cancelled += code == asio::error::operation_aborted ? 1 : 0;
  };
  for (const bool by_stream : {false, true}) {
    auto wait = by_stream ? poller.when_done(stream) : poller.when_done(event);
    std::move(wait)(asio::bind_cancellation_slot(signal.slot(), count));
    signal.emit(asio::cancellation_type::terminal);
    context.restart();
    context.run();
  }
  CHECK(cancelled == 2);
  finish();
  CHECK(cudaEventDestroy(event) == cudaSuccess);
  auto later = poller.when_done(stream)(asio::use_future);
  context.restart();
  context.run();
  later.get();
  CHECK(all.report() == "");  // nobody asked for the destroyed event
}

TEST_CASE_FIXTURE(held_stream, "an error of the device reaches whoever waits, by its code") {
  cuda::poller poller(context.get_executor());
  auto before = poller.when_done(stream)(asio::use_future);
  all.break_device(0, cudaErrorIllegalAddress);
  auto after = poller.when_done(stream)(asio::use_future);
  context.run();
  for (auto* future : {&before, &after}) {
    boost::system::error_code code;
    try {
      future->get();
    } catch (const boost::system::system_error& error) {
      code = error.code();
    }
    CHECK(code == cuda::make_error_code(cudaErrorIllegalAddress));
    CHECK(code.message().find("cudaErrorIllegalAddress") == 0);
  }
  auto wait = [&]() -> asio::awaitable<void> { co_await poller.when_done(stream); };
  auto thrown = asio::co_spawn(context, wait(), asio::use_future);
  context.restart();
  context.run();
  CHECK_THROWS_AS(thrown.get(), boost::system::system_error);
}

TEST_CASE_FIXTURE(held_stream, "a pool of one event serves any number of waits, without timing") {
  cuda::poller poller(context.get_executor(), {.events = 1});
  std::vector<int> order;
  for (int i = 0; i < 20; ++i)
    poller.when_done(stream)([&order, i](boost::system::error_code code, cuda::reached) {
      CHECK(!code);
      order.push_back(i);
    });
  context.poll();
  CHECK(order.empty());
  finish();
  context.run();
  CHECK(order.size() == 20);
  CHECK(std::is_sorted(order.begin(), order.end()));
  CHECK(all.calls("cudaEventCreateWithFlags") == 1);
  CHECK(all.timing_events() == 0);
  CHECK(all.report() == "");
}

TEST_CASE_FIXTURE(held_stream, "only the oldest event of a stream is asked for") {
  // It asks once for each wait that starts, and then sleeps.
  cuda::poller poller(context.get_executor(), {.spin_for = 0us, .yield_for = 0us, .sleep_for = 1h});
  int done = 0;
  const auto count = [&](boost::system::error_code, cuda::reached) { ++done; };
  for (int i = 0; i < 100; ++i) poller.when_done(stream)(count);
  finish();
  poller.when_done(new_event())(count);  // is done, because it was never recorded, and makes it ask once more
  context.run();
  CHECK(done == 101);
  CHECK(all.calls("cudaEventQuery") <= 101 + 102);
  CHECK(all.report() == "");
}

TEST_CASE_FIXTURE(held_stream, "waits that block ask nothing") {
  {
    cuda::poller poller(context.get_executor(), {.mode = cuda::waiting::blocking, .threads = 2});
    int done = 0;
    for (int i = 0; i < 5; ++i) poller.when_done(stream)([&](boost::system::error_code, cuda::reached) { ++done; });
    asio::cancellation_signal signal;
    boost::system::error_code cancelled;
    poller.when_done(stream)(asio::bind_cancellation_slot(
        signal.slot(), [&](boost::system::error_code code, cuda::reached) { cancelled = code; }));
    signal.emit(asio::cancellation_type::terminal);
    context.poll();
    CHECK(cancelled == asio::error::operation_aborted);
    CHECK(done == 0);
    finish();
    context.run();
    CHECK(done == 5);
  }
  CHECK(all.calls("cudaEventSynchronize") == 6);
  CHECK(all.calls("cudaEventQuery") == 0);
  CHECK(all.report() == "");
}

TEST_CASE_FIXTURE(held_stream, "a coroutine that waits may be destroyed") {
  cuda::poller poller(context.get_executor(), {.events = 1});
  auto wait = [&]() -> weft::coro::task<> { co_await poller.when_done(stream); };
  {
    weft::coro::task<> waiting = wait();
    auto awaiter = std::move(waiting).operator co_await();
    awaiter.await_suspend(std::noop_coroutine()).resume();
  }
  context.restart();                                       // it had run out of work
  auto next = poller.when_done(stream)(asio::use_future);  // waits for the event of the other
  finish();
  context.run();
  next.get();
  CHECK(all.report() == "");
}

TEST_CASE("without a driver, a poller says so") {
  asio::io_context context;
  boost::system::error_code code;
  try {
    const cuda::poller poller(context.get_executor());
  } catch (const boost::system::system_error& error) {
    code = error.code();
  }
  CHECK(code == cuda::make_error_code(cudaErrorInsufficientDriver));
}

TEST_CASE("awaiting a stream gives the bytes of a group that is done") {
  world all(2);
  const ncclUniqueId id = new_id();
  all.run([&](int rank) {
    const member self(id, 2, rank);
    std::byte* memory = device_memory(2000);
    all.write(memory, bytes_of(1000, rank));
    {
      asio::io_context context;
      cuda::poller poller(context.get_executor());
      CHECK(self.group({to(1 - rank, memory, 1000), from(1 - rank, memory + 1000, 1000)}) == ncclSuccess);
      auto done = poller.when_done(self.stream())(asio::use_future);
      context.run();
      done.get();
    }
    CHECK(all.read(memory + 1000, 1000) == bytes_of(1000, 1 - rank));
    CHECK(cudaFree(memory) == cudaSuccess);
    self.destroy();
  });
  CHECK(all.report() == "");
  CHECK(all.leftovers() == "");
}

}  // namespace
