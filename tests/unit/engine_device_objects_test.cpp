// SPDX-License-Identifier: Apache-2.0
// Buffers of device memory as members of objects: they travel in the same message.
#include "ranks.hpp"

#include <weft/engine/message.hpp>
#include <weft/engine/objects.hpp>
#include <weft/serializers/cereal.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace asio = boost::asio;
using boost::system::error_code;
using namespace asio::experimental::awaitable_operators;
using weft::device_buffer;
using weft::errc;
using weft::testing::run_ranks;

namespace {

constexpr std::array routes{weft::route::automatic, weft::route::inlined, weft::route::host, weft::route::device,
                            weft::route::pair};
constexpr auto with_code = asio::as_tuple(asio::use_awaitable);

/// A tag for what a rank says to itself.
constexpr std::uint64_t own = 99;

std::vector<float> numbers(std::size_t count, float first) {
  std::vector<float> all(count);
  std::iota(all.begin(), all.end(), first);
  return all;
}

/// Device memory with these numbers. Few enough for a send to oneself to be complete before its receive.
asio::awaitable<device_buffer> on_device(weft::communicator comm, std::vector<float> content) {
  device_buffer made = comm.device_buffer(content.size() * sizeof(float), weft::element_type::f32);
  co_await comm.send(content, weft::to(comm.rank(), own));
  co_await comm.recv(made, weft::from(comm.rank(), own));
  co_return made;
}

/// What device memory holds.
asio::awaitable<std::vector<float>> read(weft::communicator comm, const device_buffer& from) {
  std::vector<float> content(from.size() / sizeof(float));
  const weft::buffer_view view = from;
  co_await (comm.send(view, weft::to(comm.rank(), own).via(weft::route::host))(asio::use_awaitable) &&
            comm.recv(content, weft::from(comm.rank(), own))(asio::use_awaitable));
  co_return content;
}

struct kv_block {
  std::string name;
  device_buffer keys;
  std::vector<float> hints;
  std::vector<device_buffer> layers;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(name, keys, hints, layers);
  }
};

asio::awaitable<kv_block> make_block(weft::communicator comm) {
  kv_block made;
  made.name = "layer 7";
  made.keys = co_await on_device(comm, numbers(3'000, 1));
  made.hints = numbers(10'000, 0.5F);  // large enough for a segment, were there no device memory
  for (const std::size_t count : std::array<std::size_t, 3>{1, 100, 2'000}) {
    device_buffer layer = co_await on_device(comm, numbers(count, 7));
    made.layers.push_back(std::move(layer));
  }
  made.layers.emplace_back();
  co_return made;
}

asio::awaitable<void> check_block(weft::communicator comm, const kv_block& got) {
  CHECK(got.name == "layer 7");
  CHECK(got.hints == numbers(10'000, 0.5F));
  CHECK(got.keys.element() == weft::element_type::f32);
  const auto keys = co_await read(comm, got.keys);
  CHECK(keys == numbers(3'000, 1));
  REQUIRE(got.layers.size() == 4);
  const std::array<std::size_t, 3> counts{1, 100, 2'000};
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const auto layer = co_await read(comm, got.layers[i]);
    CHECK(layer == numbers(counts[i], 7));
  }
  CHECK(got.layers[3].size() == 0);
}

}  // namespace

TEST_CASE("buffers of device memory are members of objects, on every route") {
  for (const weft::route route : routes) {
    CAPTURE(weft::name(route));
    run_ranks(2, [route](weft::communicator comm) -> asio::awaitable<void> {
      if (comm.rank() == 1) {
        kv_block sent = co_await make_block(comm);
        co_await weft::send_objects(comm, weft::to(0, 1).via(route), sent, 5);
        co_await weft::send_objects(comm, weft::to(0, 2).via(route), std::move(sent));
        co_return;
      }
      auto [envelope, got, five] = co_await weft::recv_objects<kv_block, int>(comm, weft::from(1, 1));
      CHECK(five == 5);
      co_await check_block(comm, got);
      kv_block existing;
      existing.layers.resize(9);
      co_await weft::recv_objects_into(comm, weft::from(1, 2), existing);
      co_await check_block(comm, existing);
    });
  }
}

TEST_CASE("objects with device memory go to oneself") {
  for (const weft::route route : routes) {
    CAPTURE(weft::name(route));
    run_ranks(1, [route](weft::communicator comm) -> asio::awaitable<void> {
      const kv_block sent = co_await make_block(comm);
      auto [first, received] =
          co_await (weft::send_objects(comm, weft::to(0, 1).via(route), sent)(asio::use_awaitable) &&
                    weft::recv_objects<kv_block>(comm, weft::from(0, 1))(asio::use_awaitable));
      auto [envelope, got] = std::move(received);
      co_await check_block(comm, got);
    });
  }
}

TEST_CASE("objects with device memory go to several ranks, and can be looked at first") {
  run_ranks(4, [](weft::communicator comm) -> asio::awaitable<void> {
    if (comm.rank() == 0) {
      kv_block sent = co_await make_block(comm);
      const std::array others{1, 2, 3};
      auto [code, result] = co_await weft::send_objects(comm, weft::to(others, 1), sent)(with_code);
      CHECK(code == errc::refused);
      const std::size_t refused = 2;
      for (std::size_t i = 0; i < others.size(); ++i)
        CHECK(result.entries[i].code == (i == refused ? error_code(errc::refused) : error_code()));
      co_return;
    }
    weft::message next = co_await weft::recv_message(comm, weft::from(0, 1));
    CHECK(next.holds<kv_block>());
    if (comm.rank() == 1) {
      auto [envelope, got] = co_await next.get<kv_block>();
      co_await check_block(comm, got);
    } else if (comm.rank() == 2) {
      next.discard();
    } else {
      next.refuse("no room for it");
    }
  });
}

TEST_CASE("a receiver takes no more device memory than its limits allow") {
  run_ranks(2, [](weft::communicator comm) -> asio::awaitable<void> {
    if (comm.rank() == 1) {
      kv_block sent = co_await make_block(comm);
      auto [code, result] = co_await weft::send_objects(comm, weft::to(0, 1), sent)(with_code);
      CHECK(code == errc::message_too_large);
      CHECK(result.details.reason.find("max_bytes_ahead") != std::string::npos);
      co_await weft::send_objects(comm, weft::to(0, 1), sent);
      co_return;
    }
    weft::serializers::limits few;
    few.max_bytes_ahead = 8'000;
    auto [code, got] = co_await weft::recv_objects<kv_block>(comm, weft::from(1, 1), few)(with_code);
    CHECK(code == errc::message_too_large);
    CHECK(got.details.reason.find("max_bytes_ahead") != std::string::npos);
    auto [envelope, all] = co_await weft::recv_objects<kv_block>(comm, weft::from(1, 1));
    co_await check_block(comm, all);
  });
}

namespace {

// Two that claim to be the same.
struct of_host {
  static constexpr std::string_view weft_type_name = "block";
  std::vector<std::byte> bytes;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(bytes);
  }
};
struct of_device {
  static constexpr std::string_view weft_type_name = "block";
  device_buffer bytes;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(bytes);
  }
};

/// The bytes have come before anybody can look for them: their send is over.
template <class Wanted, class Sent>
asio::awaitable<void> mistake(weft::communicator comm, const Sent& sent) {
  if (comm.rank() == 1) {
    co_await weft::send_objects(comm, weft::to(0, 1), sent);
  } else {
    auto [code, got] = co_await weft::recv_objects<Wanted>(comm, weft::from(1, 1))(with_code);
    CHECK(code == errc::malformed_frame);
  }
}

/// Its `save` makes what it sends.
struct maker {
  weft::communicator comm;
  template <class Archive>
  void save(Archive& archive) const {
    const std::array<device_buffer, 1> made{comm.device_buffer(10)};
    archive(made[0]);
  }
  template <class Archive>
  void load(Archive&) {}
};

}  // namespace

TEST_CASE("memory of the host is not taken for that of a device, nor the other way round") {
  run_ranks(2, [](weft::communicator comm) -> asio::awaitable<void> {
    const of_host in_host{std::vector<std::byte>(100'000)};
    co_await mistake<of_device>(comm, in_host);
    const of_device in_device{comm.device_buffer(100'000)};
    co_await mistake<of_host>(comm, in_device);
  });
}

TEST_CASE("device memory that does not last until it is sent is refused") {
  run_ranks(1, [](weft::communicator comm) -> asio::awaitable<void> {
    const maker sent{comm};
    auto [code, result] = co_await weft::send_objects(comm, weft::to(0, 1), sent)(with_code);
    CHECK(code == errc::unserializable);
    CHECK(result.details.reason.find("memory of a device") != std::string::npos);
  });
}

TEST_CASE("a receive of objects with device memory is cancelled, and the next one gets them") {
  run_ranks(2, [](weft::communicator comm) -> asio::awaitable<void> {
    if (comm.rank() == 0) {
      auto [code, nothing] =
          co_await weft::recv_objects<kv_block>(comm, weft::from(1, 1).within(std::chrono::milliseconds(1)))(with_code);
      CHECK(code == errc::timed_out);
      const int go_on = 1;
      co_await weft::send_objects(comm, weft::to(1, 2), go_on);
      auto [envelope, got] = co_await weft::recv_objects<kv_block>(comm, weft::from(1, 1));
      co_await check_block(comm, got);
      co_return;
    }
    (void)co_await weft::recv_objects<int>(comm, weft::from(0, 2));
    const kv_block sent = co_await make_block(comm);
    co_await weft::send_objects(comm, weft::to(0, 1), sent);
  });
}
