// SPDX-License-Identifier: Apache-2.0
// An application that makes NCCL calls of its own on the devices of its engines, judged by the model.
#include "cuda_machine.hpp"
#include "cuda_model_ranks.hpp"
#include "ranks.hpp"
#include "waiting.hpp"

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <thread>
#include <vector>

namespace asio = boost::asio;
using namespace asio::experimental::awaitable_operators;
using cuda_model_test::bytes_of;
using cuda_model_test::device_memory;
using cuda_model_test::from;
using cuda_model_test::member;
using cuda_model_test::part;
using cuda_model_test::to;
using weft::route;
using weft::testing::run_ranks;
using weft::testing::running;
using weft::testing::running_world;
using weft::testing::turn;
using weft::testing::with_code;

namespace {

constexpr std::size_t size = 3000;

/// The application's communicator of all ranks, and memory for each of them. All calls come from a thread of its own.
class application {
 public:
  application(int rank, int ranks) : rank_(rank), ranks_(ranks) {}

  asio::awaitable<void> open(const ncclUniqueId& id) {
    const auto calls = [&] {
      self_.emplace(id, ranks_, rank_);
      CHECK(self_->created() == ncclSuccess);
      for (int peer = 0; peer < 2 * ranks_; ++peer) memory_.push_back(device_memory(size));
    };
    co_await in_thread(calls);
  }
  /// Everybody sends to everybody.
  asio::awaitable<void> exchange(int round) {
    const auto calls = [&, round] {
      std::vector<part> parts;
      for (int peer = 0; peer < ranks_; ++peer) {
        running_world().write(outgoing(peer), bytes_of(size, 10 * round + 3 * rank_ + peer));
        parts.push_back(to(peer, outgoing(peer), size));
        parts.push_back(from(peer, incoming(peer), size));
      }
      CHECK(self_->group(parts) == ncclSuccess);
      CHECK(self_->synchronize() == cudaSuccess);
      for (int peer = 0; peer < ranks_; ++peer)
        CHECK(running_world().read(incoming(peer), size) == bytes_of(size, 10 * round + 3 * peer + rank_));
    };
    co_await in_thread(calls);
  }
  asio::awaitable<void> close() {
    const auto calls = [&] {
      self_->destroy();
      for (std::byte* each : memory_) CHECK(cudaFree(each) == cudaSuccess);
    };
    co_await in_thread(calls);
  }

 private:
  /// The device changes hands, for which it has to be at rest. The rank's loop goes on meanwhile.
  template <class Calls>
  asio::awaitable<void> in_thread(const Calls& calls) {
    running_world().hand_over(rank_);
    std::atomic<bool> over = false;
    std::thread caller([&] {
      CHECK(cudaSetDevice(rank_) == cudaSuccess);
      calls();
      over = true;
    });
    while (!over) co_await turn();
    caller.join();
    running_world().hand_over(rank_);
  }
  [[nodiscard]] std::byte* outgoing(int peer) const { return memory_[static_cast<std::size_t>(peer)]; }
  [[nodiscard]] std::byte* incoming(int peer) const { return memory_[static_cast<std::size_t>(ranks_ + peer)]; }

  int rank_;
  int ranks_;
  std::optional<member> self_;
  std::vector<std::byte*> memory_;
};

asio::awaitable<void> meet(weft::communicator comm) {
  for (int peer = 0; peer < comm.size(); ++peer)
    co_await comm.send(std::span<const int>(), weft::to(peer, 77).via(route::inlined));
  for (int peer = 0; peer < comm.size(); ++peer) co_await comm.recv(std::span<int>(), weft::from(peer, 77));
}

/// Rank 0 makes it.
asio::awaitable<ncclUniqueId> shared_id(weft::communicator comm) {
  ncclUniqueId id{};
  if (comm.rank() == 0) id = cuda_model_test::new_id();
  const std::span<char> bytes(id.internal);
  for (int peer = 1; peer < comm.size() && comm.rank() == 0; ++peer) co_await comm.send(bytes, weft::to(peer, 5));
  if (comm.rank() != 0) co_await comm.recv(bytes, weft::from(0, 5));
  co_return id;
}

/// A transfer to the next rank, and one from the rank before, under way.
struct traffic {
  traffic(weft::communicator comm, route via, std::uint64_t tag)
      : sending(comm.send(mine, weft::to((comm.rank() + 1) % comm.size(), tag).via(via))),
        receiving(comm.recv(theirs, weft::from((comm.rank() + comm.size() - 1) % comm.size(), tag))) {}

  asio::awaitable<void> end() {
    while (!sending.ended || !receiving.ended) co_await turn();
    CHECK_FALSE(*sending.ended);
    CHECK_FALSE(*receiving.ended);
    CHECK(theirs == mine);
  }

  std::vector<int> mine = std::vector<int>(2000, 8);
  std::vector<int> theirs = std::vector<int>(2000, 0);
  running<weft::send_operation> sending;
  running<weft::receive_operation> receiving;
};

int polls_of_nccl() {
  return running_world().calls("ncclCommGetAsyncError");
}

}  // namespace

TEST_CASE("under a lease an application exchanges by a communicator of its own, while transfers wait") {
  run_ranks(3, [](weft::communicator comm) -> asio::awaitable<void> {
    application app(comm.rank(), comm.size());
    for (int round = 0; round < 4; ++round) {
      traffic before(comm, route::device, 1);
      traffic too(comm, route::pair, 2);
      weft::launch_lease lease = co_await comm.launch_lease();
      if (round == 0) {
        const ncclUniqueId id = co_await shared_id(comm);
        co_await app.open(id);
      }
      co_await meet(comm);
      const int polls = polls_of_nccl();
      traffic during(comm, route::device, 3);
      traffic also(comm, route::pair, 4);
      co_await app.exchange(round);
      co_await meet(comm);
      CHECK(polls_of_nccl() == polls);
      CHECK_FALSE(during.receiving.ended);
      CHECK_FALSE(also.receiving.ended);
      co_await meet(comm);
      if (round == 3) co_await app.close();
      lease.release();
      for (traffic* each : {&before, &too, &during, &also}) co_await each->end();
    }
  });
}

TEST_CASE("a communicator that another rank aborts during a lease is aborted after it") {
  const auto body = [](weft::communicator comm) -> asio::awaitable<void> {
    traffic warm_up(comm, route::device, 1);
    co_await warm_up.end();
    weft::communicator lessees = co_await comm.split(comm.rank() == 2 ? 1 : 0);
    const auto aborts = [] { return running_world().calls("ncclCommAbort"); };
    int value = 0;
    if (comm.rank() == 2) {
      co_await comm.recv(std::span<int>(), weft::from(0, 2));
      auto [code, result] = co_await comm.send(std::span(&value, 1), weft::to(0, 3).via(route::device))(with_code);
      CHECK(code == weft::errc::transfer_aborted);
      co_await comm.send(std::span<const int>(), weft::to(0, 4));
      while (aborts() < 3) co_await turn();  // who left before would be the reason
      co_return;
    }
    weft::launch_lease lease = co_await lessees.launch_lease();
    co_await meet(lessees);
    if (comm.rank() == 0) {
      running receiving(comm.recv(std::span(&value, 1), weft::from(2, 3)));
      co_await comm.send(std::span<const int>(), weft::to(2, 2));
      co_await comm.recv(std::span<int>(), weft::from(2, 4));
      CHECK(aborts() <= 1);  // that of rank 2
      co_await meet(lessees);
      lease.release();
      while (!receiving.ended) co_await turn();
      CHECK(*receiving.ended == weft::errc::transfer_aborted);
    } else {
      co_await meet(lessees);
      lease.release();
    }
    while (aborts() < 3) co_await turn();
  };
  const auto short_patience = [](weft::engine_options& options) {
    if (options.rank == 2) options.launch_timeout = std::chrono::seconds(2);
  };
  run_ranks(3, body, {.adjust = short_patience});
}
