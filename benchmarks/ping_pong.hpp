// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pair_end.hpp"
#include "workload.hpp"

#include <chrono>
#include <cstddef>
#include <utility>

namespace weft::bench {

/// One message there and one back, again and again. A channel has `send()` and `receive()`, whose results are awaited,
/// `keep(result)` for what was received, `fill(seed)` and `check(seed)`. The leading end sees half of each round trip.
template <class Channel>
class ping_pong final : public workload {
 public:
  explicit ping_pong(const pair_end& end) : channel_(end), leads_(end.leads()), size_(end.size) {}

  [[nodiscard]] extent unit() const noexcept override { return {2, 2 * size_}; }

  boost::asio::awaitable<void> run(std::uint64_t units) override {
    seen_.clear();
    return leads_ ? lead(units) : follow(units);
  }

  // The two ends send different bytes: an end that got its own back would be found out.
  void fill(std::uint64_t seed) override { channel_.fill(2 * seed + (leads_ ? 1 : 0)); }
  void check(std::uint64_t seed) const override { channel_.check(2 * seed + (leads_ ? 0 : 1)); }

 private:
  using clock = std::chrono::steady_clock;

  boost::asio::awaitable<void> lead(std::uint64_t units) {
    for (; units > 0; --units) {
      const auto before = clock::now();
      co_await channel_.send();
      auto answer = co_await channel_.receive();
      channel_.keep(std::move(answer));
      seen_.record((clock::now() - before) / 2);
    }
  }

  boost::asio::awaitable<void> follow(std::uint64_t units) {
    for (; units > 0; --units) {
      auto request = co_await channel_.receive();
      channel_.keep(std::move(request));
      co_await channel_.send();
    }
  }

  Channel channel_;
  bool leads_;
  std::size_t size_;
};

}  // namespace weft::bench
