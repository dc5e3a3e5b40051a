// SPDX-License-Identifier: Apache-2.0
// Ranks that share memory, that watch it instead of sleeping, and that do without.
#include "ranks.hpp"

#include <weft/engine/objects.hpp>

#include <doctest/doctest.h>

#include <chrono>
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

TEST_CASE("a spin that nobody means is refused") {
  for (const int wrong : {-1, 1'000'001}) {
    const auto adjust = [wrong](weft::engine_options& options) { options.spin = std::chrono::microseconds(wrong); };
    CHECK_THROWS_WITH_AS(run_ranks(1, exchange, {.adjust = adjust}), doctest::Contains("it is from 0 to 1000000 us"),
                         weft::error);
  }
}
