// SPDX-License-Identifier: Apache-2.0
// Deadlines, cancellation of what is matched, and who may leave before a transfer ends.
#include "ranks.hpp"
#include "waiting.hpp"

#include <weft/engine/device_buffer.hpp>
#include <weft/engine/objects.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using boost::system::error_code;
using weft::errc;
using weft::testing::held_coroutine;
using weft::testing::run_ranks;
using weft::testing::running;
using weft::testing::turn;
using weft::testing::with_code;

TEST_CASE("a lone receive times out by itself, and its error says what it waited for") {
  std::atomic<bool> done = false;
  const auto body = [&](weft::communicator comm) -> asio::awaitable<void> {
    if (comm.rank() != 0) {
      while (!done) co_await turn();
      co_return;
    }
    int never = 0;
    const auto wanted = weft::from(1, 7).within(5ms);
    auto [code, result] = co_await comm.recv(std::span(&never, 1), wanted)(with_code);
    CHECK(code == errc::timed_out);
    const std::string text = weft::describe(code, result.details);
    CHECK(text == "receive from rank 1, tag 7, 4 bytes of i32: timed out [unmatched]");
    // What came after it is not hurt.
    const int mine = 3;
    int got = 0;
    co_await comm.send(std::span(&mine, 1), weft::to(0, 7));
    co_await comm.recv(std::span(&got, 1), weft::from(0, 7).within(60s));
    CHECK(got == 3);
    done = true;
  };
  run_ranks(2, body);
}

TEST_CASE("a send that nobody receives times out on each route, and its receiver has forgotten it") {
  std::atomic<bool> done = false;
  const auto body = [&](weft::communicator comm) -> asio::awaitable<void> {
    if (comm.rank() == 0) {
      const std::vector<int> large(50'000, 1);
      for (const auto route : {weft::route::host, weft::route::device, weft::route::pair}) {
        const auto where = weft::to(1, 7).via(route).within(5ms);
        auto [code, result] = co_await comm.send(large, where)(with_code);
        CHECK(code == errc::timed_out);
        CHECK(result.details.phase == weft::phase::unmatched);
      }
      done = true;
    } else {
      while (!done) co_await turn();
      CHECK(comm.stats().unmatched == 0);
    }
  };
  run_ranks(2, body);
}

TEST_CASE("deadlines end in their own order, whatever the order of starting") {
  const auto body = [](weft::communicator comm) -> asio::awaitable<void> {
    std::vector<int> order;
    int never = 0;
    for (const int delay : {9, 1, 5})
      comm.recv(std::span(&never, 1), weft::from(0, 1).within(std::chrono::milliseconds(delay)))(
          [&order, delay](error_code code, const weft::received&) {
            CHECK(code == errc::timed_out);
            order.push_back(delay);
          });
    while (order.size() != 3) co_await turn();
    CHECK(order == std::vector{1, 5, 9});
  };
  run_ranks(1, body);
}

TEST_CASE("a deadline of nothing still takes what is there, and one of centuries is none") {
  const auto body = [](weft::communicator comm) -> asio::awaitable<void> {
    const int mine = 3;
    int got = 0;
    co_await comm.send(std::span(&mine, 1), weft::to(0, 1));
    co_await comm.recv(std::span(&got, 1), weft::from(0, 1).within(0ms));
    CHECK(got == 3);
    const auto at_once = weft::from(0, 1).within(-1s);
    auto [code, result] = co_await comm.recv(std::span(&got, 1), at_once)(with_code);
    CHECK(code == errc::timed_out);
    co_await comm.send(std::span(&mine, 1), weft::to(0, 1).within(std::chrono::hours(2'500'000)));
    co_await comm.recv(std::span(&got, 1), weft::from(0, 1));
  };
  run_ranks(1, body);
}

TEST_CASE("the operations of a batch have deadlines of their own") {
  const auto body = [](weft::communicator comm) -> asio::awaitable<void> {
    const int mine = 3;
    int got = 0;
    int never = 0;
    weft::batch together;
    together.send(std::span(&mine, 1), weft::to(0, 1))
        .recv(std::span(&got, 1), weft::from(0, 1))
        .recv(std::span(&never, 1), weft::from(0, 2).within(2ms));
    auto [code, result] = co_await comm.batch(together)(with_code);
    CHECK(code == errc::timed_out);
    CHECK_FALSE(result.entries[0].code);
    CHECK_FALSE(result.entries[1].code);
    CHECK(result.entries[2].code == errc::timed_out);
    CHECK(got == 3);
  };
  run_ranks(1, body);
}

TEST_CASE("a coroutine that is destroyed while it waits gives its message to the next receive") {
  const auto body = [](weft::communicator comm) -> asio::awaitable<void> {
    int lost = 0;
    const auto wait = [&]() -> held_coroutine { co_await comm.recv(std::span(&lost, 1), weft::from(0, 1)); };
    wait().frame.destroy();
    const int mine = 3;
    int got = 0;
    co_await comm.send(std::span(&mine, 1), weft::to(0, 1));
    co_await comm.recv(std::span(&got, 1), weft::from(0, 1));
    CHECK(got == 3);
    CHECK(lost == 0);
  };
  run_ranks(1, body);
}

// The receiver matches both messages and then holds its loop: more bytes are to come than sockets hold, so the time
// between match and end lasts until it lets go.
TEST_CASE("who waits for owned memory leaves a transfer that cannot be taken back, who lent its memory waits") {
  std::atomic<bool> matched = false;
  std::atomic<bool> let_go = false;
  const auto body = [&](weft::communicator comm) -> asio::awaitable<void> {
    const std::size_t size = 8'000'000;  // more than sockets hold
    if (comm.rank() == 0) {
      std::vector<char> borrowed(size, 'b');
      running lent(comm.send(borrowed, weft::to(1, 1)));
      running given(comm.send(std::vector<char>(size, 'o'), weft::to(1, 2)));
      while (!matched) co_await turn();
      given.signal.emit(asio::cancellation_type::total);
      lent.signal.emit(asio::cancellation_type::terminal);
      for (int i = 0; i < 50; ++i) co_await turn();
      CHECK_FALSE(given.ended);  // a total cancellation has no effect where a transfer would go on
      given.signal.emit(asio::cancellation_type::terminal);
      while (!given.ended) co_await turn();
      CHECK(*given.ended == errc::cancelled);
      CHECK_FALSE(lent.ended);
      let_go = true;
      while (!lent.ended) co_await turn();
      CHECK_FALSE(*lent.ended);
    } else {
      std::vector<char> first(size), second(size);
      running one(comm.recv(first, weft::from(0, 1)));
      running two(comm.recv(second, weft::from(0, 2)));
      // Bytes of the first message come behind both announcements.
      while (first.front() == 0) co_await turn();
      matched = true;
      while (!let_go) {}
      while (!one.ended || !two.ended) co_await turn();
      CHECK_FALSE(*one.ended);
      CHECK_FALSE(*two.ended);
      CHECK(first.back() == 'b');
      CHECK(second.back() == 'o');
    }
  };
  run_ranks(2, body);
}

TEST_CASE("a deadline on owned memory holds though the peer answers nothing") {
  std::atomic<bool> frozen = false;
  std::atomic<bool> let_go = false;
  const auto body = [&](weft::communicator comm) -> asio::awaitable<void> {
    const int go = 1;
    if (comm.rank() == 1) {
      int got = 0;
      co_await comm.recv(std::span(&got, 1), weft::from(0, 1));
      frozen = true;
      while (!let_go) {}
      co_return;
    }
    co_await comm.send(std::span(&go, 1), weft::to(1, 1));
    while (!frozen) co_await turn();
    for (const auto route : {weft::route::host, weft::route::device}) {
      const auto where = weft::to(1, 2).via(route).within(5ms);
      std::vector<int> large(50'000, 1);
      auto [code, result] = co_await comm.send(std::move(large), where)(with_code);
      CHECK(code == errc::timed_out);
    }
    let_go = true;
  };
  run_ranks(2, body);
}

TEST_CASE("device memory can be sent and received on every route, and outlives its handle") {
  const auto body = [](weft::communicator comm) -> asio::awaitable<void> {
    const int peer = 1 - comm.rank();
    for (const auto route :
         {weft::route::inlined, weft::route::host, weft::route::device, weft::route::pair, weft::route::automatic}) {
      weft::device_buffer mine = comm.device_buffer(4000, weft::element_type::f32);
      weft::device_buffer theirs = comm.device_buffer(4000, weft::element_type::f32);
      CHECK(mine.view().memory == weft::memory_kind::device);
      std::memset(mine.data(), 7 + comm.rank(), mine.size());
      std::optional<running<weft::send_operation>> sending(std::in_place,
                                                           comm.send(mine, weft::to(peer, 1).via(route)));
      mine = {};  // the operation keeps the memory
      co_await comm.recv(theirs, weft::from(peer, 1));
      CHECK(static_cast<char*>(theirs.data())[3999] == 7 + peer);
      while (!sending->ended) co_await turn();
      CHECK_FALSE(*sending->ended);
    }
    CHECK(comm.device_buffer(0).data() == nullptr);
  };
  run_ranks(2, body);
}

TEST_CASE("one message does not mix kinds of memory") {
  const auto body = [](weft::communicator comm) -> asio::awaitable<void> {
    const weft::device_buffer there = comm.device_buffer(4);
    std::vector<std::byte> here(4);
    const std::vector<weft::const_buffer_view> mixed{there, weft::view_of(here)};
    auto [code, result] = co_await comm.send(mixed, weft::to(0, 1))(with_code);
    CHECK(code == errc::memory_mismatch);
    CHECK(weft::describe(code, result.details).find("views of device and of host memory") != std::string::npos);
  };
  run_ranks(1, body);
}

TEST_CASE("memory of another device than the engine's is refused, and never touched") {
  const auto body = [](weft::communicator comm) -> asio::awaitable<void> {
    const weft::device_buffer own = comm.device_buffer(4);
    const bool on_host = comm.device_name() == "host";
    CHECK((own.view().ordinal == weft::host_device_ordinal) == on_host);
    std::vector<weft::buffer_view> others(2, own.view());
    others[0].data = others[1].data = reinterpret_cast<void*>(std::uintptr_t{64});  // nobody's
    others[0].ordinal = 5;
    others[1].ordinal = on_host ? std::int16_t{0} : weft::host_device_ordinal;
    for (const weft::buffer_view& other : others)
      for (const weft::route via : {weft::route::automatic, weft::route::host, weft::route::device}) {
        auto [code, result] = co_await comm.send(other, weft::to(0, 1).via(via))(with_code);
        CHECK(code == errc::memory_mismatch);
        CHECK(result.details.reason.find("of device " + std::to_string(other.ordinal)) != std::string::npos);
        CHECK(result.details.reason.find(on_host ? "on the host device" : "on device 0") != std::string::npos);
      }
    auto [code, result] = co_await comm.recv(others[0], weft::from(0, 1))(with_code);
    CHECK(code == errc::memory_mismatch);
    const std::vector<weft::const_buffer_view> mixed{own, others[0]};
    auto [mixed_code, mixed_result] = co_await comm.send(mixed, weft::to(0, 1))(with_code);
    CHECK(mixed_code == errc::memory_mismatch);
  };
  run_ranks(1, body);
}

TEST_CASE("a rank that sends while another one closes hears of it, at any moment of the close") {
  constexpr int rounds = 30;
  for (int round = 0; round < rounds; ++round) {
    std::atomic<bool> closes = false;
    const auto body = [&](weft::communicator comm) -> asio::awaitable<void> {
      if (comm.rank() == 0) {
        closes = true;
        co_return;
      }
      while (!closes) {}
      for (int i = 0; i < round; ++i) co_await turn();
      const std::vector<int> large(50'000, 1);
      auto [code, result] = co_await comm.send(large, weft::to(0, 1))(with_code);
      CHECK(code == errc::peer_left);
    };
    run_ranks(2, body);
  }
}
