// SPDX-License-Identifier: Apache-2.0
// Ranks that share memory, that watch it instead of sleeping, and that do without.
#include "ranks.hpp"

#include <weft/engine/objects.hpp>

#include <doctest/doctest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

namespace asio = boost::asio;
using weft::testing::run_ranks;

namespace {

/// Small objects to and fro, and large buffers that face each other.
asio::awaitable<void> exchange(weft::communicator comm) {
  const int other = 1 - comm.rank();
  for (int i = 0; i < 500; ++i) {
    if (comm.rank() == 0) co_await weft::send_objects(comm, weft::to(1, 1), i);
    auto [envelope, got] = co_await weft::recv_objects<int>(comm, weft::from(other, 1));
    CHECK(got == i);
    if (comm.rank() == 1) co_await weft::send_objects(comm, weft::to(0, 1), got);
  }
  std::vector<int> out(std::size_t{3} << 20);
  std::iota(out.begin(), out.end(), comm.rank());
  std::vector<int> in(out.size());
  weft::batch both;
  both.send(out, weft::to(other, 2)).recv(in, weft::from(other, 2));
  co_await comm.batch(both);
  CHECK(in.front() == other);
  CHECK(in.back() == other + static_cast<int>(in.size()) - 1);
}

}  // namespace

TEST_CASE("ranks that watch their links exchange as those that sleep do") {
  // The second is longer than a loop is held at a time.
  for (const auto spin : {std::chrono::microseconds(100), std::chrono::microseconds(3'000)})
    for (const int watching : {0, 1, 2}) {
      CAPTURE(spin.count());
      CAPTURE(watching);
      const auto adjust = [=](weft::engine_options& options) {
        if (options.rank < watching) options.spin = spin;
      };
      run_ranks(2, exchange, {.adjust = adjust});
    }
}

TEST_CASE("engines that watch when their context is stopped leave nothing behind") {
  std::weak_ptr<int> alive;
  {
    asio::io_context context(1);
    const auto meeting = weft::make_in_process_rendezvous(2);
    const auto held = std::make_shared<int>(0);
    alive = held;
    const auto options_of = [&](int rank) {
      weft::engine_options own;
      own.rank = rank;
      own.world_size = 2;
      own.meeting = meeting;
      own.device = weft::device_choice::host;
      own.spin = std::chrono::seconds(1);
      own.log = [held](weft::log_level, std::string_view) {};
      return own;
    };
    weft::engine first(context.get_executor(), options_of(0));
    weft::engine second(context.get_executor(), options_of(1));
    int ended = 0;
    const auto body = [&](weft::engine& one) -> asio::awaitable<void> {
      weft::communicator comm = co_await one.join();
      const int number = comm.rank();
      co_await weft::send_objects(comm, weft::to(1 - comm.rank(), 1), number);
      co_await weft::recv_objects<int>(comm, weft::from(1 - comm.rank(), 1));
      if (++ended == 2) context.stop();
    };
    asio::co_spawn(context, body(first), asio::detached);
    asio::co_spawn(context, body(second), asio::detached);
    context.run();
    CHECK(ended == 2);
  }
  CHECK(alive.expired());
}

TEST_CASE("a rank without shared memory exchanges with those that have it") {
  for (const int without : {0, 1}) {
    std::string told;
    const auto adjust = [&, without](weft::engine_options& options) {
      options.shared_memory = options.rank != without;
      if (options.rank == without) return;
      options.log = [&told](weft::log_level, std::string_view line) { told += line; };
    };
    run_ranks(2, exchange, {.adjust = adjust});
    // The end that dialled offers, and is told that nobody takes it; rank 0 does.
    CHECK((told.find("no shared memory for a link") != std::string::npos) == (without == 1));
  }
}

TEST_CASE("channels of the host device carry the same with shared memory and without") {
  // Larger than a ring, and than what a channel moves before it gives way to others.
  static constexpr std::size_t ints = (std::size_t{6} << 20) / sizeof(int);
  static constexpr int messages = 6;
  for (const auto route : {weft::route::device, weft::route::pair})
    for (const bool shared : {true, false}) {
      CAPTURE(weft::name(route));
      CAPTURE(shared);
      std::string told;
      const auto adjust = [&](weft::engine_options& options) {
        options.device = weft::device_choice::host;
        options.shared_memory = shared || options.rank == 0;
        if (options.rank == 0) options.log = [&told](weft::log_level, std::string_view line) { told += line; };
      };
      const auto body = [route](weft::communicator comm) -> asio::awaitable<void> {
        const int other = 1 - comm.rank();
        std::vector<std::vector<int>> out(messages, std::vector<int>(ints));
        std::vector<std::vector<int>> in = out;
        weft::batch all;
        for (int i = 0; i < messages; ++i) {
          const auto at = static_cast<std::size_t>(i);
          std::iota(out[at].begin(), out[at].end(), 10 * i + comm.rank());
          all.send(out[at], weft::to(other, at).via(route)).recv(in[at], weft::from(other, at));
        }
        co_await comm.batch(all);
        for (int i = 0; i < messages; ++i) {
          const std::vector<int>& got = in[static_cast<std::size_t>(i)];
          const bool in_order =
              std::adjacent_find(got.begin(), got.end(), [](int a, int b) { return b != a + 1; }) == got.end();
          CHECK(in_order);
          CHECK(got.front() == 10 * i + other);
        }
      };
      run_ranks(2, body, {.adjust = adjust});
      CHECK((told.find("no shared memory for a channel, which takes a socket") != std::string::npos) == !shared);
    }
}

TEST_CASE("a spin that nobody means is refused") {
  for (const int wrong : {-1, 1'000'001}) {
    const auto adjust = [wrong](weft::engine_options& options) { options.spin = std::chrono::microseconds(wrong); };
    CHECK_THROWS_WITH_AS(run_ranks(1, exchange, {.adjust = adjust}), doctest::Contains("it is from 0 to 1000000 us"),
                         weft::error);
  }
}
