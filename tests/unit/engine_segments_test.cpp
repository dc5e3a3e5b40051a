// SPDX-License-Identifier: Apache-2.0
// Large ranges within objects travel from where they lie, and arrive where they belong.
#include "ranks.hpp"

#include <weft/engine/objects.hpp>
#include <weft/serializers/cereal.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using weft::testing::run_ranks;

namespace {

constexpr std::array large_routes{weft::route::automatic, weft::route::host, weft::route::device, weft::route::pair};
constexpr auto with_code = asio::as_tuple(asio::use_awaitable);

std::vector<float> numbers(std::size_t count, float first = 1) {
  std::vector<float> made(count);
  std::iota(made.begin(), made.end(), first);
  return made;
}

/// Its own load might look at what it loads, for all that weft knows.
struct reading {
  std::vector<float> samples;
  double sum = 0;

  template <class Archive>
  void save(Archive& archive) const {
    archive(samples);
  }
  template <class Archive>
  void load(Archive& archive) {
    archive(samples);
    sum = std::accumulate(samples.begin(), samples.end(), 0.0);
  }
};

/// Says that it does not.
struct block {
  static constexpr bool weft_late_delivery = true;
  int number = 0;
  std::vector<float> samples;
  std::array<double, 2'000> weights{};
  std::string text;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(number, samples, weights, text);
  }
  friend bool operator==(const block&, const block&) = default;
};

block made_block(int number) {
  block made{number, numbers(30'000), {}, std::string(50'000, 'b')};
  std::iota(made.weights.begin(), made.weights.end(), number);
  return made;
}

template <class T>
T sent_and_received(const T& object, weft::route via, weft::communicator_stats& stats) {
  T got{};
  run_ranks(2, [&](weft::communicator comm) -> asio::awaitable<void> {
    if (comm.rank() == 0) {
      co_await weft::send_objects(comm, weft::to(1, 1).via(via), object);
    } else {
      auto [envelope, value] = co_await weft::recv_objects<T>(comm, weft::from(0, 1));
      got = std::move(value);
      stats = comm.stats();
    }
  });
  return got;
}

}  // namespace

TEST_CASE("a large range lands in the object that it belongs to, by every route") {
  for (const auto via : large_routes) {
    CAPTURE(weft::name(via));
    weft::communicator_stats stats;
    const auto sent = numbers(100'000);
    CHECK((sent_and_received(sent, via, stats) == sent));
    CHECK(stats.landed == sent.size() * sizeof(float));
    CHECK(stats.copied == 0);
  }
}

TEST_CASE("a type that opts in receives all its ranges in place, arrays within it too") {
  for (const auto via : large_routes) {
    CAPTURE(weft::name(via));
    weft::communicator_stats stats;
    const block sent = made_block(3);
    CHECK((sent_and_received(sent, via, stats) == sent));
    CHECK(stats.landed == 30'000 * sizeof(float) + 2'000 * sizeof(double) + 50'000);
    CHECK(stats.copied == 0);
  }
}

TEST_CASE("a type that might look at what it loads gets it copied once") {
  for (const auto via : large_routes) {
    CAPTURE(weft::name(via));
    weft::communicator_stats stats;
    const reading sent{numbers(50'000), 0};
    const reading got = sent_and_received(sent, via, stats);
    CHECK((got.samples == sent.samples));
    CHECK(got.sum == std::accumulate(sent.samples.begin(), sent.samples.end(), 0.0));
    CHECK(stats.landed == 0);
    CHECK(stats.copied == 50'000 * sizeof(float));
  }
}

TEST_CASE("an array in an element that moves while its container grows is copied once, and not written to too early") {
  weft::communicator_stats stats;
  std::vector<block> sent;
  for (int i = 0; i < 5; ++i) sent.push_back(made_block(i));
  CHECK((sent_and_received(sent, weft::route::automatic, stats) == sent));
  CHECK(stats.landed == 0);
  CHECK(stats.copied != 0);
}

TEST_CASE("small and large ranges of one map arrive together, with a head that is larger than an announcement") {
  for (const auto via : large_routes) {
    CAPTURE(weft::name(via));
    std::map<std::string, std::vector<float>> sent;
    for (std::size_t i = 0; i < 300; ++i) sent["key " + std::to_string(i)] = numbers(i % 7 == 0 ? 5'000 : 100);
    weft::communicator_stats stats;
    CHECK((sent_and_received(sent, via, stats) == sent));
    CHECK(stats.landed == 43 * 5'000 * sizeof(float));
    CHECK(stats.copied == 0);
  }
}

TEST_CASE("a frame that fits into an announcement travels whole, whatever its ranges") {
  weft::communicator_stats stats;
  const auto sent = numbers(3'000);  // 12,000 bytes: a segment, and below the eager limit
  CHECK((sent_and_received(sent, weft::route::automatic, stats) == sent));
  CHECK(stats.copied == sent.size() * sizeof(float));
}

TEST_CASE("what a save function makes for the occasion is copied before it goes") {
  struct occasional {
    std::vector<double> got;
    void save(weft::serializers::binary_output_archive& archive) const {
      const std::vector<double> made(20'000, 2.5);
      archive(made);
    }
    void load(weft::serializers::binary_input_archive& archive) { archive(got); }
  };
  weft::communicator_stats stats;
  const auto got = sent_and_received(occasional{}, weft::route::host, stats);
  CHECK((got.got == std::vector<double>(20'000, 2.5)));
  CHECK(stats.copied == 0);
}

TEST_CASE("objects are received into existing ones, whose memory is used again") {
  run_ranks(2, [](weft::communicator comm) -> asio::awaitable<void> {
    const auto sent = numbers(70'000);
    if (comm.rank() == 0) {
      co_await weft::send_objects(comm, weft::to(1, 1), sent, 5);
    } else {
      std::vector<float> got(90'000);
      const float* const memory = got.data();
      int number = 0;
      const weft::received envelope = co_await weft::recv_objects_into(comm, weft::from(0, 1), got, number);
      CHECK((got == sent));
      CHECK(got.data() == memory);
      CHECK(number == 5);
      CHECK(envelope.source == 0);
    }
  });
}

TEST_CASE("objects given as rvalues stay until they are sent, even if nobody waits") {
  run_ranks(2, [](weft::communicator comm) -> asio::awaitable<void> {
    if (comm.rank() == 0) {
      weft::send_objects(comm, weft::to(1, 1), numbers(200'000), std::array<double, 1'500>{1, 2})(
          [](boost::system::error_code code, const weft::sent&) { CHECK_FALSE(code); });
      co_await weft::send_objects(comm, weft::to(1, 2), 0);
      (void)co_await weft::recv_objects<int>(comm, weft::from(1, 3));  // before it closes
    } else {
      (void)co_await weft::recv_objects<int>(comm, weft::from(0, 2));
      using array = std::array<double, 1'500>;
      auto [envelope, got, weights] = co_await weft::recv_objects<std::vector<float>, array>(comm, weft::from(0, 1));
      CHECK((got == numbers(200'000)));
      CHECK(weights[1] == 2);
      co_await weft::send_objects(comm, weft::to(0, 3), 0);
    }
  });
}

TEST_CASE("a message beyond a limit of its receive fails at both ends, with the limit and the value") {
  run_ranks(2, [](weft::communicator comm) -> asio::awaitable<void> {
    if (comm.rank() == 0) {
      const std::vector<std::vector<float>> many(10, numbers(5'000));
      auto [code, sent] = co_await weft::send_objects(comm, weft::to(1, 1), many)(with_code);
      CHECK(code == weft::errc::message_too_large);
      CHECK(sent.details.reason.find("10 segments; expected at most 9; raise limits::max_segments") !=
            std::string::npos);
      auto [ahead, too] = co_await weft::send_objects(comm, weft::to(1, 2), numbers(50'000))(with_code);
      CHECK(ahead == weft::errc::message_too_large);
      CHECK(too.details.reason.find("raise limits::max_bytes_ahead") != std::string::npos);
      co_await weft::send_objects(comm, weft::to(1, 3), 1);
    } else {
      weft::serializers::limits bounds;
      bounds.max_segments = 9;
      auto [code, got] =
          co_await weft::recv_objects<std::vector<std::vector<float>>>(comm, weft::from(0, 1), bounds)(with_code);
      CHECK(code == weft::errc::message_too_large);
      CHECK(got.details.here.bytes > 200'000);  // the message's own size, as it was announced
      CHECK(got.details.here.bytes < 210'000);
      bounds.max_bytes_ahead = 100'000;
      auto [ahead, too] = co_await weft::recv_objects<std::vector<float>>(comm, weft::from(0, 2), bounds)(with_code);
      CHECK(ahead == weft::errc::message_too_large);
      (void)co_await weft::recv_objects<int>(comm, weft::from(0, 3));
    }
  });
}

TEST_CASE("a receive that ends while its ranges are landing is written to no more, and its link goes on") {
  run_ranks(2, [](weft::communicator comm) -> asio::awaitable<void> {
    const auto sent = numbers(std::size_t{6} << 20);
    constexpr int rounds = 8;
    for (int i = 1; i <= rounds; ++i) {
      if (comm.rank() == 0) {
        co_await weft::send_objects(comm, weft::to(1, 1), sent);
      } else {
        // Some of the deadlines fall into the transfer: what the result had must be free to go then.
        const auto where = weft::from(0, 1).within(std::chrono::milliseconds(2 * i));
        auto [code, got] = co_await weft::recv_objects<std::vector<float>>(comm, where)(with_code);
        CHECK((!code || code == weft::errc::timed_out));
        if (code && got.details.phase < weft::phase::matched)
          (void)co_await weft::recv_objects<std::vector<float>>(comm, weft::from(0, 1));
      }
    }
    if (comm.rank() == 0) {
      co_await weft::send_objects(comm, weft::to(1, 2), sent);
    } else {
      auto [envelope, got] = co_await weft::recv_objects<std::vector<float>>(comm, weft::from(0, 2));
      CHECK((got == sent));
    }
  });
}

TEST_CASE("the sender of a message that cannot be loaded hears of it, though its send is over") {
  struct narrow {
    int number = 0;
    void save(weft::serializers::binary_output_archive& archive) const { archive(number); }
    void load(weft::serializers::binary_input_archive& archive) {
      archive(number);
      throw std::runtime_error("not this one");
    }
  };
  std::vector<std::string> heard;
  const auto listen = [&heard](weft::engine_options& options) {
    if (options.rank != 0) return;
    options.late_error = [&heard](const boost::system::error_code& code, const weft::operation_details& details) {
      CHECK(code == weft::errc::malformed_frame);
      CHECK(details.tag == 1);
      CHECK(details.peer == 1);
      heard.push_back(details.reason);
    };
  };
  const auto body = [](weft::communicator comm) -> asio::awaitable<void> {
    if (comm.rank() == 0) {
      co_await weft::send_objects(comm, weft::to(1, 1), narrow());
      (void)co_await weft::recv_objects<int>(comm, weft::from(1, 2));
    } else {
      auto [code, got] = co_await weft::recv_objects<narrow>(comm, weft::from(0, 1))(with_code);
      CHECK(code == weft::errc::malformed_frame);
      co_await weft::send_objects(comm, weft::to(0, 2), 1);
    }
  };
  run_ranks(2, body, {.adjust = listen});
  REQUIRE(heard.size() == 1);
  CHECK(heard[0].find("not this one") != std::string::npos);
}

TEST_CASE("objects go to many ranks, serialized once, with a result for each") {
  struct counted {
    int* saved = nullptr;
    std::vector<float> samples;
    void save(weft::serializers::binary_output_archive& archive) const {
      ++*saved;
      archive(samples);
    }
    void load(weft::serializers::binary_input_archive& archive) { archive(samples); }
  };
  run_ranks(4, [](weft::communicator comm) -> asio::awaitable<void> {
    if (comm.rank() != 0) {
      auto [envelope, got] = co_await weft::recv_objects<counted>(comm, weft::from(0, 1));
      CHECK((got.samples == numbers(40'000)));
      co_return;
    }
    int saved = 0;
    const counted object{&saved, numbers(40'000)};
    const std::vector<int> ranks{1, 2, 9, 3};
    auto [code, result] = co_await weft::send_objects(comm, weft::to(ranks, 1), object)(with_code);
    CHECK(saved == 1);
    CHECK(code == weft::errc::rank_out_of_range);
    REQUIRE(result.entries.size() == 4);
    CHECK_FALSE(result.entries[0].code);
    CHECK_FALSE(result.entries[1].code);
    CHECK(result.entries[2].code == weft::errc::rank_out_of_range);
    CHECK_FALSE(result.entries[3].code);
  });
}
