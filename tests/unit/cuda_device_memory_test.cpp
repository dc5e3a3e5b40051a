// SPDX-License-Identifier: Apache-2.0
// Memory of a GPU, which the host cannot reach, through the engine.
#include "cuda_machine.hpp"
#include "ranks.hpp"
#include "waiting.hpp"

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
using weft::testing::running;
using weft::testing::running_world;
using weft::testing::turn;

namespace {

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

constexpr std::array all_kinds{weft::memory_kind::host, weft::memory_kind::pinned, weft::memory_kind::device};

/// Memory of one kind, in two pieces.
class some_memory {
 public:
  static constexpr std::size_t size = 1'300'000;  // more than is copied at a time

  some_memory(const weft::communicator& comm, weft::memory_kind kind) : kind_(kind) {
    CHECK(cudaSetDevice(comm.rank()) == cudaSuccess);
    if (kind == weft::memory_kind::host) {
      ordinary_.resize(size);
      at_ = ordinary_.data();
    } else if (kind == weft::memory_kind::pinned) {
      void* made = nullptr;
      CHECK(cudaHostAlloc(&made, size, cudaHostAllocDefault) == cudaSuccess);
      at_ = static_cast<std::byte*>(made);
    } else {
      device_ = comm.device_buffer(size);
      at_ = static_cast<std::byte*>(device_.data());
    }
  }
  some_memory(some_memory&& from) noexcept
      : kind_(from.kind_),
        at_(std::exchange(from.at_, nullptr)),
        ordinary_(std::move(from.ordinary_)),
        device_(std::move(from.device_)) {}
  some_memory& operator=(some_memory&&) = delete;
  ~some_memory() {
    if (kind_ == weft::memory_kind::pinned && at_ != nullptr) CHECK(cudaFreeHost(at_) == cudaSuccess);
  }

  [[nodiscard]] std::vector<weft::buffer_view> pieces(std::size_t bytes) const {
    const std::size_t first = bytes / 3;
    return {{at_, first, weft::element_type::bytes, kind_, device_.view().ordinal},
            {at_ + first, bytes - first, weft::element_type::bytes, kind_, device_.view().ordinal}};
  }
  void fill(int first) const {
    const auto bytes = bytes_of(size, first);
    kind_ == weft::memory_kind::host ? void(std::ranges::copy(bytes, at_)) : running_world().write(at_, bytes);
  }
  [[nodiscard]] bool holds(std::size_t bytes, int first) const {
    const auto found =
        kind_ == weft::memory_kind::host ? std::vector<std::byte>(at_, at_ + bytes) : running_world().read(at_, bytes);
    return found == bytes_of(bytes, first);
  }

 private:
  weft::memory_kind kind_;
  std::byte* at_ = nullptr;
  std::vector<std::byte> ordinary_;
  weft::device_buffer device_;
};

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

TEST_CASE("a GPU's memory is sent to oneself on every route") {
  const auto body = [](weft::communicator comm) -> asio::awaitable<void> {
    for (const route via : {route::inlined, route::host, route::device, route::pair}) {
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

TEST_CASE("every kind of memory is sent to every other one on every route") {
  const auto body = [](weft::communicator comm) -> asio::awaitable<void> {
    std::vector<some_memory> mine;
    for (const auto kind : all_kinds) mine.emplace_back(comm, kind);
    for (std::size_t pair = 0; pair < all_kinds.size() * all_kinds.size(); ++pair) {
      const some_memory& memory = mine[comm.rank() == 0 ? pair / all_kinds.size() : pair % all_kinds.size()];
      for (const route via : {route::inlined, route::host, route::device, route::pair})
        for (const std::size_t size : {std::size_t{0}, std::size_t{1000}, some_memory::size}) {
          CAPTURE(pair);
          CAPTURE(weft::name(via));
          CAPTURE(size);
          if (via == route::inlined && size > 1000) continue;
          if (comm.rank() == 0) {
            memory.fill(static_cast<int>(pair));
            co_await comm.send(memory.pieces(size), weft::to(1, 1).via(via));
          } else {
            memory.fill(100);
            co_await comm.recv(memory.pieces(size), weft::from(0, 1));
            CHECK(memory.holds(size, static_cast<int>(pair)));
          }
        }
    }
  };
  run_ranks(2, body);
}

TEST_CASE("a send from a GPU's memory that is cancelled ends once nothing reads it, and its receive goes on waiting") {
  const auto body = [](weft::communicator comm) -> asio::awaitable<void> {
    const weft::device_buffer memory = comm.device_buffer(5000);
    if (comm.rank() == 0) {
      running_world().hold(0);
      running send(comm.send(weft::const_buffer_view(memory), weft::to(1, 1).via(route::host)));
      while (running_world().calls("cudaMemcpyAsync") == 0) co_await turn();
      send.signal.emit(asio::cancellation_type::total);
      for (int i = 0; i < 100; ++i) co_await turn();
      CHECK_FALSE(send.ended);
      running_world().release(0);
      while (!send.ended) co_await turn();
      CHECK(*send.ended == errc::cancelled);
      fill(memory, 2);
      co_await comm.send(memory, weft::to(1, 1).via(route::host));
    } else {
      co_await comm.recv(memory, weft::from(0, 1));
      CHECK(holds(memory, 2));
    }
  };
  run_ranks(2, body);
}

TEST_CASE("a receive into a GPU's memory is over when its bytes are there, and too late to cancel before") {
  const auto body = [](weft::communicator comm) -> asio::awaitable<void> {
    const std::vector<std::byte> message = bytes_of(5000, 3);
    if (comm.rank() == 0) {
      co_await comm.send(message, weft::to(1, 1));
    } else {
      const weft::device_buffer memory = comm.device_buffer(5000);
      running_world().hold(1);
      running receive(comm.recv(weft::buffer_view(memory), weft::from(0, 1)));
      while (running_world().calls("cudaMemcpyAsync") == 0) co_await turn();
      receive.signal.emit(asio::cancellation_type::terminal);
      for (int i = 0; i < 100; ++i) co_await turn();
      CHECK_FALSE(receive.ended);
      running_world().release(1);
      while (!receive.ended) co_await turn();
      CHECK_FALSE(*receive.ended);
      CHECK(holds(memory, 3));
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
