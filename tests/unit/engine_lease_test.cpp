// SPDX-License-Identifier: Apache-2.0
// The device lent to the application.
#include "ranks.hpp"
#include "waiting.hpp"

#include <weft/engine/launch_lease.hpp>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace asio::experimental::awaitable_operators;
using boost::system::error_code;
using weft::errc;
using weft::route;
using weft::testing::held_coroutine;
using weft::testing::run_ranks;
using weft::testing::running;
using weft::testing::turn;
using weft::testing::with_code;

namespace {

/// Nobody goes on before all are here.
asio::awaitable<void> meet(weft::communicator comm, std::uint64_t tag = 77) {
  for (int peer = 0; peer < comm.size(); ++peer)
    co_await comm.send(std::span<const int>(), weft::to(peer, tag).via(route::inlined));
  for (int peer = 0; peer < comm.size(); ++peer) co_await comm.recv(std::span<int>(), weft::from(peer, tag));
}

/// Each sends to the next one.
asio::awaitable<void> pass_on(weft::communicator comm, route via, int value) {
  const int next = (comm.rank() + 1) % comm.size();
  const int before = (comm.rank() + comm.size() - 1) % comm.size();
  int got = -1;
  co_await (comm.send(std::span(&value, 1), weft::to(next, 1).via(via))(asio::use_awaitable) &&
            comm.recv(std::span(&got, 1), weft::from(before, 1))(asio::use_awaitable));
  CHECK(got == value);
}

held_coroutine wait_for_lease(weft::communicator comm) {
  (void)co_await comm.launch_lease();
}

}  // namespace

TEST_CASE("what the device carries waits for the end of a lease, at each rank for its own, and messages go on") {
  run_ranks(2, [](weft::communicator comm) -> asio::awaitable<void> {
    co_await pass_on(comm, route::device, 1);
    const std::uint64_t before = comm.stats().batches;
    weft::launch_lease lease = co_await comm.launch_lease();
    CHECK(lease);
    int value = comm.rank() == 0 ? 5 : 0;
    const int last = 9;
    if (comm.rank() == 0) {
      running sending(comm.send(std::span(&value, 1), weft::to(1, 2).via(route::device)));
      co_await meet(comm);
      CHECK(comm.stats().batches == before);
      lease.release();
      CHECK_FALSE(lease);
      while (comm.stats().batches == before) co_await turn();  // so it stands in the log of both
      co_await comm.send(std::span(&last, 1), weft::to(1, 3).via(route::host));
      while (!sending.ended) co_await turn();
      CHECK_FALSE(*sending.ended);
    } else {
      running receiving(comm.recv(std::span(&value, 1), weft::from(0, 2)));
      co_await meet(comm);
      int got = 0;
      co_await comm.recv(std::span(&got, 1), weft::from(0, 3));
      CHECK(got == last);
      CHECK_FALSE(receiving.ended);
      CHECK(comm.stats().batches == before);
      lease.release();
      lease.release();  // without effect
      while (!receiving.ended) co_await turn();
      CHECK_FALSE(*receiving.ended);
      CHECK(value == 5);
    }
  });
}

TEST_CASE("leases and transfers of four ranks and their halves take turns, and a lease is held by all at once") {
  constexpr int rounds = 12;
  run_ranks(4, [](weft::communicator comm) -> asio::awaitable<void> {
    weft::communicator half = co_await comm.split(comm.rank() % 2);
    const auto transfers = [&](route via, weft::communicator on) -> asio::awaitable<void> {
      for (int i = 0; i < rounds; ++i) co_await pass_on(on, via, i);
    };
    const auto leases = [](weft::communicator of, std::uint64_t tag) -> asio::awaitable<void> {
      for (int i = 0; i < rounds; ++i) {
        const weft::launch_lease lease = co_await of.launch_lease();
        CHECK(lease);
        co_await meet(of, tag);  // as a collective of the application's
      }
    };
    auto carried = transfers(route::device, comm) && transfers(route::pair, half);
    auto leased = leases(comm, 91) && leases(half, 92);
    co_await (std::move(carried) && std::move(leased));
    co_await meet(comm);
  });
}

TEST_CASE("who cancels before all have asked gets no lease, and counts no more") {
  run_ranks(2, [](weft::communicator comm) -> asio::awaitable<void> {
    if (comm.rank() == 0) {
      running cancelled(comm.launch_lease());
      cancelled.signal.emit(asio::cancellation_type::total);
      while (!cancelled.ended) co_await turn();
      CHECK(*cancelled.ended == errc::cancelled);
    }
    co_await meet(comm);
    for (int i = 0; i < 2; ++i) {
      const weft::launch_lease lease = co_await comm.launch_lease();
      co_await meet(comm);
    }
    co_await pass_on(comm, route::device, 4);
  });
}

TEST_CASE("a cancellation that comes too late has no effect: the others count on the lease") {
  run_ranks(2, [](weft::communicator comm) -> asio::awaitable<void> {
    co_await pass_on(comm, route::device, 1);
    weft::launch_lease first = co_await comm.launch_lease();
    if (comm.rank() == 1) {
      first.release();
      const weft::launch_lease second = co_await comm.launch_lease();  // so rank 0 has asked, too
      co_await comm.send(std::span<const int>(), weft::to(0, 5));
      co_await comm.recv(std::span<int>(), weft::from(0, 6));  // who leaves takes leases along that wait to be granted
      co_return;
    }
    asio::cancellation_signal signal;
    std::optional<error_code> ended;
    std::optional<weft::launch_lease> second;
    comm.launch_lease()(asio::bind_cancellation_slot(signal.slot(), [&](error_code code, weft::launch_lease got) {
      ended = code;
      second = std::move(got);
    }));
    co_await comm.recv(std::span<int>(), weft::from(1, 5));
    signal.emit(asio::cancellation_type::terminal);
    first.release();
    while (!ended) co_await turn();
    CHECK_FALSE(*ended);
    CHECK(*second);
    co_await comm.send(std::span<const int>(), weft::to(1, 6));
  });
}

TEST_CASE("a waiter that is destroyed takes its wish back, or gives the device back at once") {
  run_ranks(2, [](weft::communicator comm) -> asio::awaitable<void> {
    if (comm.rank() == 0) wait_for_lease(comm).frame.destroy();
    co_await meet(comm);
    weft::launch_lease first = co_await comm.launch_lease();
    if (comm.rank() == 1) {
      first.release();
      const weft::launch_lease second = co_await comm.launch_lease();
      co_await comm.send(std::span<const int>(), weft::to(0, 5));
    } else {
      const held_coroutine waiting = wait_for_lease(comm);
      co_await comm.recv(std::span<int>(), weft::from(1, 5));  // too late to be taken back
      waiting.frame.destroy();
      first.release();
    }
    co_await pass_on(comm, route::device, 4);
    co_await meet(comm);
  });
}

TEST_CASE("a lease with a rank that has left fails by name, also where it was asked for before") {
  std::atomic<bool> asked = false;
  run_ranks(3, [&](weft::communicator comm) -> asio::awaitable<void> {
    if (comm.rank() == 1) {
      while (!asked) co_await turn();
      co_return;
    }
    running waiting(comm.launch_lease());
    asked = true;
    while (!waiting.ended) co_await turn();
    CHECK(*waiting.ended == errc::peer_left);
    auto [code, lease] = co_await comm.launch_lease()(with_code);
    CHECK(code == errc::peer_left);
    CHECK_FALSE(lease);
    CHECK(lease.details.peer == 1);
    CHECK(weft::describe(code, lease.details) == "lease: the peer has left: rank 1 of the group is gone");
    // What does not need that rank goes on.
    int value = 3;
    if (comm.rank() == 0)
      co_await comm.send(std::span(&value, 1), weft::to(2, 1).via(route::pair));
    else
      co_await comm.recv(std::span(&value, 1), weft::from(0, 1));
  });
}

TEST_CASE("a group of one has leases at once, and a lease of some ranks is no matter of the others") {
  run_ranks(3, [](weft::communicator comm) -> asio::awaitable<void> {
    weft::communicator mine = co_await comm.split(comm.rank() == 2 ? 1 : 0);
    weft::launch_lease lease = co_await mine.launch_lease();
    if (comm.rank() == 2) {
      lease = {};  // gives it back
      weft::launch_lease again = co_await mine.launch_lease();
      const weft::launch_lease moved = std::move(again);
      CHECK(moved);
      CHECK_FALSE(again);  // NOLINT: after the move
    }
    co_await meet(comm);
    lease.release();
    co_await pass_on(comm, route::device, 1);
  });
}

TEST_CASE("an ordinary thread may wait for a lease, and give it back") {
  run_ranks(2, [](weft::communicator comm) -> asio::awaitable<void> {
    std::atomic<bool> done = false;
    std::thread other([&] {
      const weft::launch_lease lease = comm.wait_for_launch_lease();
      CHECK(lease);
      done = true;
    });
    while (!done) co_await turn();
    other.join();
    co_await pass_on(comm, route::device, 1);
  });
}

TEST_CASE("a lease that others never ask for ends with the engine, as closed, and a later one is refused") {
  std::optional<error_code> ended;
  std::optional<error_code> refused;
  run_ranks(2, [&](weft::communicator comm) -> asio::awaitable<void> {
    if (comm.rank() == 0)
      comm.launch_lease()([&, comm](error_code code, const weft::launch_lease&) {
        ended = code;
        comm.launch_lease()([&](error_code late, const weft::launch_lease&) { refused = late; });
      });
    co_return;
  });
  REQUIRE(ended);
  CHECK((*ended == errc::closed || *ended == errc::peer_left));  // whichever of the two was first
  REQUIRE(refused);
  CHECK((*refused == errc::closed || *refused == errc::peer_left));
}
