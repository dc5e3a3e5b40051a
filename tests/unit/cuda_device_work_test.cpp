// SPDX-License-Identifier: Apache-2.0
// Operations whose buffer a GPU is still to write or to read.
#include "cuda_machine.hpp"
#include "ranks.hpp"
#include "waiting.hpp"

#include <weft/engine/objects.hpp>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace asio = boost::asio;
using weft::errc;
using weft::route;
using weft::testing::run_ranks;
using weft::testing::running;
using weft::testing::running_world;
using weft::testing::turn;
using weft::testing::with_code;

namespace {

constexpr std::size_t size = 5000;
constexpr int clock_rank = 2;  // lends its device, which the test holds and releases
constexpr std::uint64_t over = 99;

/// A stream of this rank's device. What is put on it waits until the clock's device is released.
class held_stream {
 public:
  explicit held_stream(int rank) {
    CHECK(cudaSetDevice(clock_rank) == cudaSuccess);
    CHECK(cudaStreamCreateWithFlags(&clock_, cudaStreamNonBlocking) == cudaSuccess);
    CHECK(cudaEventCreateWithFlags(&tick_, cudaEventDisableTiming) == cudaSuccess);
    running_world().hold(clock_rank);
    CHECK(cudaEventRecord(tick_, clock_) == cudaSuccess);
    CHECK(cudaSetDevice(rank) == cudaSuccess);
    CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking) == cudaSuccess);
    CHECK(cudaStreamWaitEvent(stream_, tick_, 0) == cudaSuccess);
  }
  held_stream(const held_stream&) = delete;
  held_stream& operator=(const held_stream&) = delete;
  ~held_stream() {
    release();
    CHECK(cudaStreamSynchronize(stream_) == cudaSuccess);
    CHECK(cudaStreamDestroy(stream_) == cudaSuccess);
    CHECK(cudaStreamSynchronize(clock_) == cudaSuccess);
    CHECK(cudaEventDestroy(tick_) == cudaSuccess);
    CHECK(cudaStreamDestroy(clock_) == cudaSuccess);
  }

  [[nodiscard]] cudaStream_t stream() const noexcept { return stream_; }
  /// Reached once the clock is released.
  [[nodiscard]] cudaEvent_t tick() const noexcept { return tick_; }
  static void release() { running_world().release(clock_rank); }

 private:
  cudaStream_t clock_ = nullptr;
  cudaEvent_t tick_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

bool holds(const weft::device_buffer& buffer, int value) {
  const auto bytes = running_world().read(buffer.data(), buffer.size());
  return std::all_of(bytes.begin(), bytes.end(), [=](std::byte one) { return one == std::byte(value); });
}

asio::awaitable<void> exchange(weft::communicator comm, route via, std::uint64_t tag) {
  using namespace asio::experimental::awaitable_operators;
  const int mine = comm.rank();
  int theirs = -1;
  co_await (comm.send(std::span(&mine, 1), weft::to(1 - mine, tag).via(via))(asio::use_awaitable) &&
            comm.recv(std::span(&theirs, 1), weft::from(1 - mine, tag))(asio::use_awaitable));
  CHECK(theirs == 1 - mine);
}

template <class Running>
asio::awaitable<void> end_of(const Running& operation) {
  while (!operation.ended) co_await turn();
}

/// Runs `body` on ranks 0 and 1, which have used the pair, while the third one lends its device.
void with_clock(const weft::testing::rank_body& body) {
  run_ranks(3, [&](weft::communicator comm) -> asio::awaitable<void> {
    if (comm.rank() != clock_rank) {
      co_await exchange(comm, route::pair, 98);
      co_await body(comm);
      co_await comm.send(std::span<const int>(), weft::to(clock_rank, over));
      co_return;
    }
    for (int i = 0; i < 2; ++i) co_await comm.recv(std::span<int>(), weft::from(weft::any_source, over));
  });
}

}  // namespace

TEST_CASE("a send after a stream's work keeps its place, is sent when that is done, and holds up nobody") {
  with_clock([](weft::communicator comm) -> asio::awaitable<void> {
    const weft::device_buffer memory = comm.device_buffer(size);
    if (comm.rank() == 0) {
      const held_stream held(0);
      CHECK(cudaMemsetAsync(memory.data(), 7, size, held.stream()) == cudaSuccess);
      running first(comm.send(memory, weft::to(1, 1).via(route::pair).after(held.stream())));
      for (const route via : {route::inlined, route::host, route::pair}) co_await exchange(comm, via, 2);
      CHECK_FALSE(first.ended);
      held_stream::release();
      co_await end_of(first);
      CHECK_FALSE(*first.ended);
    } else {
      running first(comm.recv(memory, weft::from(0, weft::any_tag)));
      for (const route via : {route::inlined, route::host, route::pair}) co_await exchange(comm, via, 2);
      co_await end_of(first);
      CHECK_FALSE(*first.ended);
      CHECK(holds(memory, 7));
    }
  });
}

TEST_CASE("a receive after an event leaves its buffer alone until then") {
  with_clock([](weft::communicator comm) -> asio::awaitable<void> {
    const weft::device_buffer memory = comm.device_buffer(size);
    const std::vector<std::byte> sevens(size, std::byte(7));
    if (comm.rank() == 0) {
      running_world().write(memory.data(), sevens);
      co_await comm.send(memory, weft::to(1, 1).via(route::pair));
      co_await exchange(comm, route::host, 3);
    } else {
      running_world().write(memory.data(), std::vector<std::byte>(size, std::byte(1)));
      const held_stream held(1);
      running receive(comm.recv(memory, weft::from(0, 1).after(held.tick())));
      while (comm.stats().unmatched != 0) co_await turn();
      CHECK_FALSE(receive.ended);
      CHECK(holds(memory, 1));
      held_stream::release();
      co_await end_of(receive);
      CHECK_FALSE(*receive.ended);
      CHECK(holds(memory, 7));
      co_await exchange(comm, route::host, 3);
    }
  });
}

TEST_CASE("memory of the host that a GPU writes is sent after it on every route") {
  with_clock([](weft::communicator comm) -> asio::awaitable<void> {
    for (const route via : {route::inlined, route::host, route::pair}) {
      CAPTURE(weft::name(via));
      std::array<int, 100> numbers{};
      if (comm.rank() == 0) {
        const held_stream held(0);
        running send(comm.send(numbers, weft::to(1, 1).via(via).after(held.stream())));
        co_await exchange(comm, route::host, 2);
        CHECK_FALSE(send.ended);
        numbers.fill(5);  // as a kernel would
        held_stream::release();
        co_await end_of(send);
        CHECK_FALSE(*send.ended);
      } else {
        running receive(comm.recv(numbers, weft::from(0, 1)));
        co_await exchange(comm, route::host, 2);
        co_await end_of(receive);
        CHECK_FALSE(*receive.ended);
        CHECK(std::ranges::count(numbers, 5) == 100);
      }
    }
  });
}

TEST_CASE("an operation that waits for a GPU can be cancelled, and its event is not touched any more") {
  with_clock([](weft::communicator comm) -> asio::awaitable<void> {
    int value = comm.rank();
    if (comm.rank() == 0) {
      {
        const held_stream held(0);
        running by_stream(comm.send(std::span(&value, 1), weft::to(1, 1).via(route::pair).after(held.stream())));
        running by_event(comm.recv(std::span(&value, 1), weft::from(1, 2).after(held.tick())));
        by_stream.signal.emit(asio::cancellation_type::total);
        by_event.signal.emit(asio::cancellation_type::total);
        co_await end_of(by_stream);
        co_await end_of(by_event);
        CHECK(*by_stream.ended == errc::cancelled);
        CHECK(*by_event.ended == errc::cancelled);
      }
      co_await comm.send(std::span(&value, 1), weft::to(1, 1).via(route::pair));
      co_await comm.recv(std::span(&value, 1), weft::from(1, 2));
      CHECK(value == 1);
    } else {
      const int mine = 1;
      running send(comm.send(std::span(&mine, 1), weft::to(0, 2).via(route::pair)));
      co_await comm.recv(std::span(&value, 1), weft::from(0, 1));
      CHECK(value == 0);
      co_await end_of(send);
      CHECK_FALSE(*send.ended);
    }
  });
}

TEST_CASE("work that fails ends what waits for it by name, and its other end goes on") {
  with_clock([](weft::communicator comm) -> asio::awaitable<void> {
    int value = comm.rank();
    if (comm.rank() == 0) {
      const held_stream held(0);
      running send(comm.send(std::span(&value, 1), weft::to(1, 1).via(route::host).after(held.stream())));
      running_world().inject({.call = "cudaEventQuery", .rank = 0, .code = cudaErrorIllegalAddress});
      co_await end_of(send);
      CHECK(*send.ended == errc::device_failed);
      co_await comm.send(std::span(&value, 1), weft::to(1, 1).via(route::host));
    } else {
      co_await comm.recv(std::span(&value, 1), weft::from(0, 1));
      CHECK(value == 0);
    }
  });
}

TEST_CASE("what no operation can wait for is refused by name") {
  const auto body = [](weft::communicator comm) -> asio::awaitable<void> {
    int value = 0;
    cudaStream_t stream = nullptr;
    cudaEvent_t event = nullptr;
    {
      auto [code, result] = co_await comm.recv(std::span(&value, 1), weft::from(0, 1).after(event))(with_code);
      CHECK(code == errc::invalid_option);
      CHECK(result.details.reason.find("null cudaEvent_t") != std::string::npos);
    }
    {
      auto [code, result] = co_await weft::send_objects(comm, weft::to(0, 1).after(stream), value)(with_code);
      CHECK(code == errc::invalid_option);
      CHECK(result.details.reason.find("`after` is for buffers") != std::string::npos);
    }
    running_world().inject({.call = "cudaEventRecord", .code = cudaErrorInvalidResourceHandle});
    {
      auto [code, result] = co_await comm.recv(std::span(&value, 1), weft::from(0, 1).after(stream))(with_code);
      CHECK(code == errc::device_failed);
      CHECK(result.details.reason.find("cudaErrorInvalidResourceHandle") != std::string::npos);
    }
  };
  run_ranks(1, body);
}
