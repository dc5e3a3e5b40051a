// SPDX-License-Identifier: Apache-2.0
#include "ranks.hpp"

#include <weft/engine/objects.hpp>

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <numeric>
#include <semaphore>
#include <vector>

namespace asio = boost::asio;
using weft::testing::links;
using weft::testing::run_ranks;

namespace {

constexpr std::array routes{weft::route::automatic, weft::route::inlined, weft::route::host, weft::route::device,
                            weft::route::pair};

std::vector<int> numbers(std::size_t count, int first) {
  std::vector<int> made(count);
  std::iota(made.begin(), made.end(), first);
  return made;
}

asio::awaitable<void> exchange(weft::communicator comm, weft::route route, std::size_t count) {
  const int peer = 1 - comm.rank();
  const auto mine = numbers(count, comm.rank() * 1000);
  std::vector<int> theirs(count, -1);
  weft::batch both;
  both.send(mine, weft::to(peer, 1).via(route)).recv(theirs, weft::from(peer, 1));
  co_await comm.batch(both);
  CHECK(theirs == numbers(count, peer * 1000));
}

}  // namespace

TEST_CASE("two ranks exchange buffers over every route and transport") {
  for (const auto transport : {weft::transport::unix_socket, weft::transport::tcp}) {
    for (const auto route : routes) {
      CAPTURE(weft::name(route));
      const auto body = [route](weft::communicator comm) -> asio::awaitable<void> {
        for (const std::size_t count : {0U, 1U, 1000U, 4096U}) co_await exchange(comm, route, count);
        if (route != weft::route::inlined) co_await exchange(comm, route, 3'000'000);
      };
      run_ranks(2, body, {.over = transport, .adjust = {}});
    }
  }
}

TEST_CASE("a message is on its way when its sender hears that it is sent, whatever that does to its loop") {
  for (const auto transport : {weft::transport::unix_socket, weft::transport::tcp}) {
    std::binary_semaphore arrived(0);
    const auto body = [&](weft::communicator comm) -> asio::awaitable<void> {
      co_await exchange(comm, weft::route::inlined, 1);
      if (comm.rank() == 0) {
        co_await weft::send_objects(comm, weft::to(1, 1), 7);
        const bool in_time = arrived.try_acquire_for(std::chrono::seconds(20));
        CHECK(in_time);
      } else {
        co_await weft::recv_objects<int>(comm, weft::from(0, 1));
        arrived.release();
      }
    };
    run_ranks(2, body, {.over = transport, .adjust = {}});
  }
}

TEST_CASE("messages of one source and tag never overtake each other, other tags may be taken first") {
  for (const auto route : routes) {
    CAPTURE(weft::name(route));
    const auto body = [route](weft::communicator comm) -> asio::awaitable<void> {
      constexpr int count = 50;
      if (comm.rank() == 0) {
        std::vector<std::array<int, 4>> values;
        values.reserve(count);
        for (int i = 0; i < count; ++i) values.push_back({i, i, i, i});
        weft::batch sends;
        for (int i = 0; i < count; ++i)
          sends.send(values[static_cast<std::size_t>(i)], weft::to(1, static_cast<std::uint64_t>(i % 2)).via(route));
        co_await comm.batch(sends);
      } else {
        std::array<int, 4> value{};
        for (const int tag : {1, 0}) {
          for (int i = tag; i < count; i += 2) {
            const auto envelope = co_await comm.recv(value, weft::from(0, static_cast<std::uint64_t>(tag)));
            CHECK(value[3] == i);
            CHECK(envelope.source == 0);
            CHECK(envelope.tag == static_cast<std::uint64_t>(tag));
            CHECK(envelope.bytes == sizeof value);
          }
        }
      }
    };
    run_ranks(2, body);
  }
}

TEST_CASE("receives take from any source and any tag") {
  const auto body = [](weft::communicator comm) -> asio::awaitable<void> {
    if (comm.rank() != 0) {
      const int value = comm.rank();
      co_await comm.send(std::span(&value, 1), weft::to(0, static_cast<std::uint64_t>(10 + value)));
      co_return;
    }
    int sum = 0;
    for (int i = 1; i < comm.size(); ++i) {
      int value = 0;
      const auto envelope = co_await comm.recv(std::span(&value, 1), weft::from(weft::any_source, weft::any_tag));
      CHECK(envelope.source == value);
      CHECK(envelope.tag == static_cast<std::uint64_t>(10 + value));
      sum += value;
    }
    CHECK(sum == 6);
  };
  run_ranks(4, body);
}

TEST_CASE("a message to oneself works in both orders, over every route, at any size") {
  for (const auto route : routes) {
    CAPTURE(weft::name(route));
    const auto body = [route](weft::communicator comm) -> asio::awaitable<void> {
      for (const std::size_t count : {0U, 10U, 3000U, 400'000U}) {
        if (route == weft::route::inlined && count > 4096) continue;
        const auto mine = numbers(count, 5);
        std::vector<int> first(count);
        std::vector<int> second(count);
        weft::batch all;
        all.send(mine, weft::to(comm.rank(), 1).via(route))
            .recv(first, weft::from(comm.rank(), 1))
            .recv(second, comm.size() == 1 ? weft::from(weft::any_source, 2) : weft::from(comm.rank(), 2))
            .send(mine, weft::to(comm.rank(), 2).via(route));
        co_await comm.batch(all);
        CHECK(first == mine);
        CHECK(second == mine);
      }
    };
    run_ranks(1, body);
    run_ranks(2, body);
  }
}

TEST_CASE("a message is gathered from several buffers and scattered into others") {
  for (const auto route : routes) {
    CAPTURE(weft::name(route));
    const auto body = [route](weft::communicator comm) -> asio::awaitable<void> {
      const std::size_t scale = route == weft::route::inlined ? 1 : 100'000;
      if (comm.rank() == 0) {
        const auto a = numbers(3 * scale, 0);
        const std::vector<int> nothing;
        const auto b = numbers(5 * scale, static_cast<int>(3 * scale));
        const std::array views{weft::view_of(a), weft::view_of(nothing), weft::view_of(b)};
        co_await comm.send(views, weft::to(1, 1).via(route));
      } else {
        std::vector<int> a(7 * scale);
        std::vector<int> b(1 * scale);
        const std::vector views{weft::writable_view_of(a), weft::writable_view_of(b)};
        co_await comm.recv(views, weft::from(0, 1));
        CHECK(a == numbers(7 * scale, 0));
        CHECK(b == numbers(scale, static_cast<int>(7 * scale)));
      }
    };
    run_ranks(2, body);
  }
}

TEST_CASE("a container that was moved in lives until the transfer is over") {
  const auto body = [](weft::communicator comm) -> asio::awaitable<void> {
    if (comm.rank() == 0) {
      co_await comm.send(numbers(500'000, 3), weft::to(1, 1));
    } else {
      std::vector<int> theirs(500'000);
      co_await comm.recv(theirs, weft::from(0, 1));
      CHECK(theirs == numbers(500'000, 3));
    }
  };
  run_ranks(2, body);
}

namespace {

asio::awaitable<void> until_all_are_here(weft::communicator comm) {
  constexpr std::uint64_t here = 1'000;
  constexpr std::uint64_t all_are = 1'001;
  if (comm.rank() != 0) {
    co_await weft::send_objects(comm, weft::to(0, here), comm.rank());
    co_await weft::recv_objects<int>(comm, weft::from(0, all_are));
    co_return;
  }
  for (int i = 1; i < comm.size(); ++i) co_await weft::recv_objects<int>(comm, weft::from(weft::any_source, here));
  for (int i = 1; i < comm.size(); ++i) co_await weft::send_objects(comm, weft::to(i, all_are), i);
}

}  // namespace

TEST_CASE("only the communicators that are used are opened, each once") {
  const auto body = [](weft::communicator comm) -> asio::awaitable<void> {
    // A ring of pairs without the one between the last rank and the first.
    int value = comm.rank();
    int got = -1;
    for (int round = 0; round < 3; ++round) {
      weft::batch both;
      if (comm.rank() + 1 < comm.size())
        both.send(std::span(&value, 1), weft::to(comm.rank() + 1, 1).via(weft::route::pair));
      if (comm.rank() > 0) both.recv(std::span(&got, 1), weft::from(comm.rank() - 1, 1));
      co_await comm.batch(both);
    }
    const auto stats = comm.stats();
    CHECK(stats.group_communicators == 0);
    const bool inner = comm.rank() > 0 && comm.rank() + 1 < comm.size();
    REQUIRE(stats.pair_communicators.size() == (inner ? 2 : 1));
    for (const auto& [low, high] : stats.pair_communicators) CHECK(low + 1 == high);
    // A rank that leaves takes its communicators along: not before all have counted theirs.
    co_await until_all_are_here(comm);
  };
  run_ranks(4, body);
}
