// SPDX-License-Identifier: Apache-2.0
// Memory of a GPU, which the host cannot reach, through the engine.
#include "cuda_machine.hpp"
#include "ranks.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace asio::experimental::awaitable_operators;
using weft::errc;
using weft::route;
using weft::testing::run_ranks;
using weft::testing::running_world;

namespace {

constexpr auto with_code = asio::as_tuple(asio::use_awaitable);

std::vector<std::byte> bytes_of(std::size_t count, int first) {
  std::vector<std::byte> made(count);
  for (std::size_t i = 0; i < count; ++i) made[i] = static_cast<std::byte>(static_cast<int>(i % 251) + first);
  return made;
}

void fill(const weft::device_buffer& buffer, int first) {
  running_world().write(buffer.data(), bytes_of(buffer.size(), first));
}

bool holds(const weft::device_buffer& buffer, int first) {
  return running_world().read(buffer.data(), buffer.size()) == bytes_of(buffer.size(), first);
}

weft::const_buffer_view part(const weft::device_buffer& of, std::size_t from, std::size_t size) {
  weft::const_buffer_view view = of;
  view.data = static_cast<const std::byte*>(view.data) + from;
  view.size = size;
  return view;
}

weft::buffer_view writable_part(const weft::device_buffer& of, std::size_t from, std::size_t size) {
  weft::buffer_view view = of;
  view.data = static_cast<std::byte*>(view.data) + from;
  view.size = size;
  return view;
}

}  // namespace

TEST_CASE("memory of two GPUs is exchanged by the group and by the pair, of any size") {
  const auto body = [](weft::communicator comm) -> asio::awaitable<void> {
    const int peer = 1 - comm.rank();
    for (const route via : {route::device, route::pair, route::automatic})
      for (const std::size_t size : {std::size_t{1}, std::size_t{1000}, std::size_t{3} << 20}) {
        const weft::device_buffer mine = comm.device_buffer(size);
        const weft::device_buffer theirs = comm.device_buffer(size);
        fill(mine, comm.rank());
        co_await (comm.send(mine, weft::to(peer, 1).via(via))(asio::use_awaitable) &&
                  comm.recv(theirs, weft::from(peer, 1))(asio::use_awaitable));
        CHECK(holds(theirs, peer));
      }
  };
  run_ranks(2, body);
}

TEST_CASE("a message of a GPU's memory may go to memory of the host, and the other way round") {
  const auto body = [](weft::communicator comm) -> asio::awaitable<void> {
    constexpr std::size_t size = 100'000;
    for (const route via : {route::device, route::pair}) {
      const weft::device_buffer there = comm.device_buffer(size);
      std::vector<std::byte> here(size);
      if (comm.rank() == 0) {
        fill(there, 3);
        co_await comm.send(there, weft::to(1, 1).via(via));
        co_await comm.recv(there, weft::from(1, 1));
        CHECK(holds(there, 4));
      } else {
        co_await comm.recv(here, weft::from(0, 1));
        CHECK((here == bytes_of(size, 3)));
        here = bytes_of(size, 4);
        co_await comm.send(here, weft::to(0, 1).via(via));
      }
    }
  };
  run_ranks(2, body);
}

TEST_CASE("several pieces of a GPU's memory are one message, put together and taken apart on the GPU") {
  const auto body = [](weft::communicator comm) -> asio::awaitable<void> {
    constexpr std::size_t size = 3000;
    const weft::device_buffer memory = comm.device_buffer(size);
    if (comm.rank() == 0) {
      fill(memory, 5);
      const std::vector<weft::const_buffer_view> pieces{part(memory, 0, 1000), part(memory, 1000, 1500),
                                                        part(memory, 2500, 500)};
      co_await comm.send(pieces, weft::to(1, 1));
    } else {
      const std::vector<weft::buffer_view> pieces{writable_part(memory, 0, 100), writable_part(memory, 100, 2900)};
      co_await comm.recv(pieces, weft::from(0, 1));
      CHECK(holds(memory, 5));
    }
  };
  run_ranks(2, body);
}

TEST_CASE("a GPU's memory is sent to oneself on the GPU") {
  const auto body = [](weft::communicator comm) -> asio::awaitable<void> {
    for (const route via : {route::device, route::pair}) {
      const weft::device_buffer from = comm.device_buffer(5000);
      const weft::device_buffer to = comm.device_buffer(5000);
      fill(from, 6);
      co_await (comm.send(from, weft::to(0, 1).via(via))(asio::use_awaitable) &&
                comm.recv(to, weft::from(0, 1))(asio::use_awaitable));
      CHECK(holds(to, 6));
    }
  };
  run_ranks(1, body);
}

TEST_CASE("routes that do not reach a GPU's memory are refused by name, at both ends, and nothing is hurt") {
  const auto body = [](weft::communicator comm) -> asio::awaitable<void> {
    const weft::device_buffer there = comm.device_buffer(400);
    std::vector<std::byte> here(400);
    if (comm.rank() == 0) {
      for (const route via : {route::inlined, route::host}) {
        auto [refused, result] = co_await comm.send(there, weft::to(1, 1).via(via))(with_code);
        CHECK(refused == errc::memory_mismatch);
        CHECK(result.details.reason.find("device and pair") != std::string::npos);
        auto [code, details] = co_await comm.send(here, weft::to(1, 1).via(via).until(weft::matched))(with_code);
        CHECK(code == errc::memory_mismatch);
      }
      co_await comm.send(here, weft::to(1, 1));
    } else {
      for (int i = 0; i < 2; ++i) {
        auto [code, result] = co_await comm.recv(there, weft::from(0, 1))(with_code);
        CHECK(code == errc::memory_mismatch);
      }
      co_await comm.recv(here, weft::from(0, 1));
    }
  };
  run_ranks(2, body);
}

TEST_CASE("memory that the pool does not have is refused, and what is given back can be had again") {
  const auto body = [](weft::communicator comm) -> asio::awaitable<void> {
    CHECK_THROWS_AS((void)comm.device_buffer(std::size_t{1} << 40), std::bad_alloc);
    for (int i = 0; i < 100; ++i) CHECK(comm.device_buffer(std::size_t{20} << 20).size() != 0);
    co_return;
  };
  run_ranks(1, body);
}
