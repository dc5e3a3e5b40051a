// SPDX-License-Identifier: Apache-2.0
// Objects in JSON between ranks: the message says what it is, and the receiver what it accepts.
#include "ranks.hpp"

#include <weft/engine/message.hpp>
#include <weft/engine/objects.hpp>
#include <weft/serializers/json.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

namespace asio = boost::asio;
using weft::testing::run_ranks;

namespace {

constexpr auto with_code = asio::as_tuple(asio::use_awaitable);

struct dish {
  std::string name;
  std::vector<float> amounts;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(CEREAL_NVP(name), CEREAL_NVP(amounts));
  }
  friend bool operator==(const dish&, const dish&) = default;
};

dish made_dish() {
  return {"soup", std::vector<float>(20'000, 0.1F)};
}

}  // namespace

TEST_CASE("a receive that accepts JSON takes what the message says, by every route") {
  const dish sent = made_dish();
  for (const auto route : {weft::route::automatic, weft::route::host, weft::route::device, weft::route::pair}) {
    CAPTURE(weft::name(route));
    run_ranks(2, [&](weft::communicator comm) -> asio::awaitable<void> {
      if (comm.rank() == 0) {
        co_await weft::send_objects<weft::json>(comm, weft::to(1, 1).via(route), sent, 5);
        co_await weft::send_objects(comm, weft::to(1, 1).via(route), sent, 6);
        co_return;
      }
      for (const int expected : {5, 6}) {
        auto [envelope, got, number] = co_await weft::recv_objects<weft::json, dish, int>(comm, weft::from(0, 1));
        CHECK((got == sent));
        CHECK(number == expected);
      }
    });
  }
}

TEST_CASE("a receive that does not accept JSON says so, and what to do") {
  run_ranks(2, [](weft::communicator comm) -> asio::awaitable<void> {
    if (comm.rank() == 0) {
      co_await weft::send_objects<weft::json>(comm, weft::to(1, 1), 5);
      co_return;
    }
    auto receive = weft::recv_objects<int>(comm, weft::from(0, 1));
    auto [code, result] = co_await std::move(receive)(with_code);
    CHECK((code == weft::errc::malformed_frame));
    CHECK(result.details.reason.find("serializer 2 (JSON)") != std::string::npos);
    CHECK(result.details.reason.find("weft::json") != std::string::npos);
  });
}

TEST_CASE("JSON goes to many, and into objects and messages that are held") {
  const dish sent = made_dish();
  run_ranks(2, [&](weft::communicator comm) -> asio::awaitable<void> {
    if (comm.rank() == 0) {
      const std::array<int, 1> all{1};
      for (int i = 0; i != 3; ++i) co_await weft::send_objects<weft::json>(comm, weft::to(all, 1), sent);
      co_return;
    }
    dish got;
    co_await weft::recv_objects_into<weft::json>(comm, weft::from(0, 1), got);
    CHECK((got == sent));
    weft::message first = co_await weft::recv_message(comm, weft::from(0, 1));
    auto [envelope, value] = co_await first.get<weft::json, dish>();
    CHECK((value == sent));
    weft::message second = co_await weft::recv_message(comm, weft::from(0, 1));
    got = {};
    co_await second.get_into<weft::json>(got);
    CHECK((got == sent));
  });
}

TEST_CASE("a string that JSON cannot hold is refused where it is sent") {
  run_ranks(1, [](weft::communicator comm) -> asio::awaitable<void> {
    auto sending = weft::send_objects<weft::json>(comm, weft::to(0, 1), std::string("\xFF"));
    auto [code, result] = co_await std::move(sending)(with_code);
    CHECK((code == weft::errc::unserializable));
    CHECK(result.details.reason.find("not UTF-8") != std::string::npos);
  });
}
