// SPDX-License-Identifier: Apache-2.0
#include "pair_end.hpp"
#include "pattern.hpp"
#include "together.hpp"
#include "workload.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <utility>
#include <vector>

namespace weft::bench {
namespace {

namespace asio = boost::asio;

/// One large message, one way, while both loops have a timer to serve. What is seen is how late the timer is: as long
/// as anything else that the loop has to do would have had to wait.
class loop_stall final : public workload {
 public:
  explicit loop_stall(const pair_end& end) : end_(end), bytes_(end.size) {}

  [[nodiscard]] extent unit() const noexcept override { return {1, end_.size}; }

  asio::awaitable<void> run(std::uint64_t units) override {
    seen_.clear();
    transfers_ = true;
    asio::steady_timer timer(co_await asio::this_coro::executor);
    std::vector<asio::awaitable<void>> both;
    both.push_back(watch(timer));
    both.push_back(transfer(units, timer));
    co_await together(std::move(both));
  }

  void fill(std::uint64_t seed) override {
    if (end_.leads()) bench::fill(bytes_, seed);
  }
  void check(std::uint64_t seed) const override { bench::check(bytes_, seed); }

 private:
  using clock = std::chrono::steady_clock;

  asio::awaitable<void> transfer(std::uint64_t units, asio::steady_timer& timer) {
    for (; units > 0; --units) {
      if (end_.leads())
        co_await end_.comm.send(bytes_, end_.payload_to);
      else
        co_await end_.comm.recv(bytes_, end_.payload_from);
    }
    co_await end_.all_arrived();
    transfers_ = false;
    timer.cancel();
  }

  asio::awaitable<void> watch(asio::steady_timer& timer) {
    constexpr std::chrono::milliseconds interval{1};
    while (transfers_) {
      const auto due = clock::now() + interval;
      timer.expires_at(due);
      co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
      // One that was cancelled before it was due has seen nothing, one that is overdue has.
      if (const auto late = clock::now() - due; late.count() >= 0) seen_.record(late);
    }
  }

  pair_end end_;
  std::vector<std::byte> bytes_;
  bool transfers_ = false;
};

}  // namespace

std::unique_ptr<workload> make_loop_stall(const weft::communicator& comm, const options& asked) {
  return std::make_unique<loop_stall>(pair_end(comm, asked));
}

}  // namespace weft::bench
