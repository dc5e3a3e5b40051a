// SPDX-License-Identifier: Apache-2.0
// Messages that are looked at before they are received.
#include "ranks.hpp"

#include <weft/engine/message.hpp>
#include <weft/engine/objects.hpp>
#include <weft/serializers/cereal.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <string>
#include <vector>

namespace asio = boost::asio;
using weft::testing::run_ranks;

namespace {

constexpr auto with_code = asio::as_tuple(asio::use_awaitable);

asio::awaitable<weft::message> next_message(const weft::communicator& comm) {
  co_return co_await weft::recv_message(comm, weft::from(weft::any_source, weft::any_tag));
}

}  // namespace

TEST_CASE("a server receives what comes, each by what it is") {
  run_ranks(3, [](weft::communicator comm) -> asio::awaitable<void> {
    if (comm.rank() == 1) {
      co_await weft::send_objects(comm, weft::to(0, 1), std::string("small"));
      const std::vector<float> large(100'000, 2.5F);
      co_await weft::send_objects(comm, weft::to(0, 2), large);
      co_return;
    }
    if (comm.rank() == 2) {
      const std::vector<int> three{1, 2, 3};
      co_await comm.send(three, weft::to(0, 3));
      co_await comm.send(std::vector<int>(50'000, 7), weft::to(0, 4).via(weft::route::device));
      co_return;
    }
    int seen = 0;
    for (int i = 0; i < 4; ++i) {
      weft::message next = co_await next_message(comm);
      REQUIRE(next);
      const weft::envelope what = next.envelope();
      seen |= 1 << what.tag;
      CHECK(what.source == (what.tag <= 2 ? 1 : 2));
      if (next.holds<std::string>()) {
        auto [envelope, text] = co_await next.get<std::string>();
        CHECK(text == "small");
        CHECK(envelope.tag == 1);
      } else if (next.holds<std::vector<float>>()) {
        std::vector<float> got;
        co_await next.get_into(got);
        CHECK((got == std::vector<float>(100'000, 2.5F)));
      } else {
        CHECK(next.element() == weft::element_type::i32);
        std::vector<int> memory(what.bytes / sizeof(int));
        const auto received = co_await next.receive_into(memory);
        CHECK(received.bytes == what.bytes);
        CHECK(memory.back() == (what.tag == 3 ? 3 : 7));
      }
      CHECK_FALSE(next);
    }
    CHECK(seen == 0b11110);
  });
}

TEST_CASE("a refused message fails its send with the reason, and one that is let go of, too") {
  run_ranks(2, [](weft::communicator comm) -> asio::awaitable<void> {
    const std::vector<float> large(100'000);
    if (comm.rank() == 0) {
      for (const auto via : {weft::route::host, weft::route::device, weft::route::pair}) {
        auto [code, sent] = co_await weft::send_objects(comm, weft::to(1, 1).via(via), large)(with_code);
        CHECK(code == weft::errc::refused);
        CHECK(sent.details.reason == "not today");
      }
      auto [code, sent] = co_await comm.send(large, weft::to(1, 2))(with_code);
      CHECK(code == weft::errc::refused);
      CHECK(sent.details.reason == "the receiver let go of it");
      auto [thrown_away, fine] = co_await comm.send(large, weft::to(1, 3))(with_code);
      CHECK_FALSE(thrown_away);
    } else {
      for (int i = 0; i < 3; ++i) {
        weft::message next = co_await next_message(comm);
        next.refuse("not today");
      }
      (void)co_await next_message(comm);
      weft::message last = co_await next_message(comm);
      last.discard();
      CHECK(comm.stats().received.bytes == 0);
    }
  });
}

TEST_CASE("a message that its sender takes back fails the receive that comes too late") {
  run_ranks(2, [](weft::communicator comm) -> asio::awaitable<void> {
    if (comm.rank() == 0) {
      const std::vector<float> large(100'000);
      using namespace std::chrono_literals;
      auto [code, sent] = co_await comm.send(large, weft::to(1, 1).within(50ms))(with_code);
      CHECK(code == weft::errc::timed_out);
      co_await weft::send_objects(comm, weft::to(1, 2), 0);
    } else {
      weft::message taken_back = co_await weft::recv_message(comm, weft::from(0, 1));
      (void)co_await weft::recv_objects<int>(comm, weft::from(0, 2));
      std::vector<float> memory(100'000);
      auto [code, got] = co_await taken_back.receive_into(memory)(with_code);
      CHECK(code == weft::errc::withdrawn);
      CHECK_FALSE(taken_back);
    }
  });
}

TEST_CASE("what does not fit the message fails both ends by name") {
  run_ranks(2, [](weft::communicator comm) -> asio::awaitable<void> {
    const std::vector<float> large(100'000);
    if (comm.rank() == 0) {
      auto [size, a] = co_await comm.send(large, weft::to(1, 1))(with_code);
      CHECK(size == weft::errc::size_mismatch);
      auto [kind, b] = co_await comm.send(large, weft::to(1, 2))(with_code);
      CHECK(kind == weft::errc::kind_mismatch);
      auto [type, c] = co_await weft::send_objects(comm, weft::to(1, 3), large)(with_code);
      CHECK(type == weft::errc::object_type_mismatch);
      auto [memory, d] = co_await comm.send(large, weft::to(1, 4))(with_code);
      CHECK(memory == weft::errc::refused);
    } else {
      std::vector<float> small(7);
      weft::message first = co_await next_message(comm);
      auto [size, a] = co_await first.receive_into(small)(with_code);
      CHECK(size == weft::errc::size_mismatch);
      weft::message second = co_await next_message(comm);
      auto [kind, b] = co_await second.get<std::vector<float>>()(with_code);
      CHECK(kind == weft::errc::kind_mismatch);
      weft::message third = co_await next_message(comm);
      auto [type, c] = co_await third.get<int>()(with_code);
      CHECK(type == weft::errc::object_type_mismatch);
      weft::message fourth = co_await next_message(comm);
      const weft::buffer_view nowhere{nullptr, 400'000, weft::element_type::f32};
      auto [memory, d] = co_await fourth.receive_into(nowhere)(with_code);
      CHECK(memory == weft::errc::null_buffer);
    }
  });
}

TEST_CASE("a message can be received once") {
  run_ranks(1, [](weft::communicator comm) -> asio::awaitable<void> {
    co_await comm.send(std::vector<int>(1, 1), weft::to(0, 1));
    weft::message next = co_await next_message(comm);
    std::vector<int> memory(1);
    co_await next.receive_into(memory);
    CHECK(memory[0] == 1);
    CHECK_THROWS_AS((void)next.receive_into(memory)(asio::detached), weft::error);
    next.refuse("too late");
    next.discard();
  });
}
