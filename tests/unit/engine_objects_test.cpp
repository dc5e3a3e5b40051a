// SPDX-License-Identifier: Apache-2.0
// Objects of every kind travel over every route.
#include "ranks.hpp"

#include <weft/engine/objects.hpp>
#include <weft/serializers/cereal.hpp>

#include <doctest/doctest.h>

#include <array>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>

namespace asio = boost::asio;
using weft::testing::run_ranks;

namespace {

constexpr std::array routes{weft::route::automatic, weft::route::inlined, weft::route::host, weft::route::device,
                            weft::route::pair};

struct point {
  double x = 0;
  double y = 0;
  std::string name;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(x, y, name);
  }
  friend bool operator==(const point&, const point&) = default;
};

struct nothing {
  template <class Archive>
  void serialize(Archive&) {}
  friend bool operator==(const nothing&, const nothing&) = default;
};

struct instrument {
  virtual ~instrument() = default;
  [[nodiscard]] virtual std::string sound() const = 0;
  template <class Archive>
  void serialize(Archive&) {}
};

struct drum final : instrument {
  int beats = 0;
  [[nodiscard]] std::string sound() const override { return std::string(static_cast<std::size_t>(beats), '!'); }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(cereal::base_class<instrument>(this), beats);
  }
};

/// Rank 0 sends the objects over every route, and rank 1 gives what it received to `check`; then one rank does both.
template <class... Ts, class Check>
void over_every_route(const std::tuple<Ts...>& objects, Check check, bool fits_inline = true) {
  for (const auto route : routes) {
    if (route == weft::route::inlined && !fits_inline) continue;
    CAPTURE(weft::name(route));
    const auto body = [&](weft::communicator comm) -> asio::awaitable<void> {
      const int last = comm.size() - 1;
      if (comm.rank() == 0) {
        auto sending = std::apply(
            [&](const Ts&... object) { return weft::send_objects(comm, weft::to(last, 7).via(route), object...); },
            objects);
        if (last == 0) {
          // Only what fits in the engine completes before somebody receives it.
          std::move(sending)([](boost::system::error_code code, const weft::sent&) { CHECK_FALSE(code); });
        } else {
          co_await std::move(sending);
        }
      }
      if (comm.rank() == last) {
        auto got = co_await weft::recv_objects<Ts...>(comm, weft::from(weft::any_source, 7));
        CHECK(got.envelope.source == 0);
        CHECK(got.envelope.tag == 7);
        check(got.envelope, got.values);
      }
    };
    run_ranks(1, body);
    run_ranks(2, body);
  }
}

template <class... Ts>
void arrive_equal(const Ts&... objects) {
  const std::tuple<Ts...> all(objects...);
  over_every_route(all, [&all](const weft::envelope&, const std::tuple<Ts...>& got) { CHECK((got == all)); });
}

}  // namespace

CEREAL_REGISTER_TYPE(drum)

TEST_CASE("numbers, structs and strings arrive as they were sent") {
  arrive_equal(7);
  arrive_equal(point{1.5, -2, "here"});
  arrive_equal(std::string("with \0 inside", 13), std::string(), std::string(3000, 's'));
}

TEST_CASE("containers arrive as they were sent") {
  arrive_equal(std::vector<point>{{1, 2, "a"}, {3, 4, "b"}},
               std::map<std::string, std::vector<int>>{{"x", {1, 2}}, {"y", {}}});
  arrive_equal(std::set<int>{3, 1, 2}, std::unordered_map<int, std::string>{{1, "one"}, {2, "two"}},
               std::array<double, 3>{1, 2, 3}, std::vector<bool>{true, false, true});
}

TEST_CASE("optional and variant arrive as they were sent") {
  arrive_equal(std::optional<point>(), std::optional<point>(point{1, 2, "p"}));
  arrive_equal(std::variant<int, std::string, point>(std::string("text")),
               std::variant<int, std::string, point>(point{}));
}

TEST_CASE("several objects are one message, and empty ones count") {
  arrive_equal(1, std::string("two"), 3.0, point{4, 4, "four"}, std::vector<int>{5, 5});
  arrive_equal(std::vector<int>{}, std::string(), nothing{}, std::map<int, int>{});
  arrive_equal(nothing{});
}

TEST_CASE("owned objects arrive behind unique_ptr, and none where there was none") {
  for (const auto route : routes) {
    CAPTURE(weft::name(route));
    const auto body = [route](weft::communicator comm) -> asio::awaitable<void> {
      if (comm.rank() == 0) {
        auto full = std::make_unique<point>(point{1, 2, "owned"});
        co_await weft::send_objects(comm, weft::to(1, 1).via(route), std::move(full), std::unique_ptr<point>());
      } else {
        auto [envelope, full, none] =
            co_await weft::recv_objects<std::unique_ptr<point>, std::unique_ptr<point>>(comm, weft::from(0, 1));
        CHECK(envelope.source == 0);
        REQUIRE(full);
        CHECK((*full == point{1, 2, "owned"}));
        CHECK_FALSE(none);
      }
    };
    run_ranks(2, body);
  }
}

TEST_CASE("objects shared within a message are shared where they arrive") {
  const auto shared = std::make_shared<point>(point{3, 4, "shared"});
  using pointers = std::vector<std::shared_ptr<point>>;
  over_every_route(std::tuple(pointers{shared, shared, nullptr}), [](const weft::envelope&, std::tuple<pointers>& got) {
    const pointers& arrived = std::get<0>(got);
    REQUIRE(arrived.size() == 3);
    REQUIRE(arrived[0]);
    CHECK((*arrived[0] == point{3, 4, "shared"}));
    CHECK(arrived[0] == arrived[1]);
    CHECK_FALSE(arrived[2]);
  });
}

TEST_CASE("a derived object arrives as itself behind a pointer to its base") {
  const auto made = std::make_shared<drum>();
  made->beats = 3;
  using base = std::shared_ptr<instrument>;
  over_every_route(std::tuple(base(made)), [](const weft::envelope&, std::tuple<base>& got) {
    const base& arrived = std::get<0>(got);
    REQUIRE(dynamic_cast<drum*>(arrived.get()) != nullptr);
    CHECK(arrived->sound() == "!!!");
  });
}

TEST_CASE("a vector of one mebibyte arrives, and the envelope counts its bytes") {
  std::vector<int> numbers((std::size_t{1} << 20) / sizeof(int));
  std::iota(numbers.begin(), numbers.end(), 1);
  using all = std::tuple<std::vector<int>>;
  const auto check = [&numbers](const weft::envelope& envelope, const all& got) {
    CHECK(envelope.bytes >= numbers.size() * sizeof(int));
    CHECK((std::get<0>(got) == numbers));
  };
  over_every_route(all(numbers), check, false);
}

TEST_CASE("objects from any source are told apart by their envelopes") {
  const auto body = [](weft::communicator comm) -> asio::awaitable<void> {
    if (comm.rank() != 0) {
      const auto tag = static_cast<std::uint64_t>(100 + comm.rank());
      co_await weft::send_objects(comm, weft::to(0, tag), std::string("from ") + std::to_string(comm.rank()));
      co_return;
    }
    std::set<int> sources;
    for (int i = 1; i < comm.size(); ++i) {
      auto [envelope, text] =
          co_await weft::recv_objects<std::string>(comm, weft::from(weft::any_source, weft::any_tag));
      CHECK(text == "from " + std::to_string(envelope.source));
      CHECK(envelope.tag == static_cast<std::uint64_t>(100 + envelope.source));
      CHECK(envelope.bytes > text.size());
      sources.insert(envelope.source);
    }
    CHECK(sources == std::set<int>{1, 2, 3});
  };
  run_ranks(4, body);
}
