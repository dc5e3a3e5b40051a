// SPDX-License-Identifier: Apache-2.0
#include "crew.hpp"
#include "own_process.hpp"
#include "wrapped_workload.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <memory>

namespace weft::bench {
namespace {

namespace asio = boost::asio;

/// A ping-pong between ranks 0 and 1, while all others are connected with each other and idle. Before that, what a
/// connection takes in memory, and what all of them take in processor time while nobody has anything to do.
class idle final : public wrapped_workload {
 public:
  idle(const weft::communicator& comm, const options& asked)
      : wrapped_workload(comm.rank() < 2 ? make_buffer_ping_pong(comm, asked) : nullptr),
        comm_(comm),
        seconds_(asked.seconds),
        connect_(make_all_to_all(comm, asked)),
        bytes_before_(resident_bytes_now()) {}

  asio::awaitable<void> begin(variant) override {
    connect_->fill(connecting_seed);
    co_await connect_->run(1);
    connect_->check(connecting_seed);
    co_await wait_for_all(comm_);
    found_.bytes_per_peer = (resident_bytes_now() - bytes_before_) / (comm_.size() - 1);
    co_await wait_for_all(comm_);
    asio::steady_timer timer(co_await asio::this_coro::executor);
    timer.expires_after(
        std::chrono::duration_cast<asio::steady_timer::duration>(std::chrono::duration<double>(seconds_)));
    const double cpu_before = cpu_seconds_now();
    co_await timer.async_wait(asio::use_awaitable);
    found_.idle_cpu_us_per_s = (cpu_seconds_now() - cpu_before) * 1e6 / seconds_;
    co_await wait_for_all(comm_);
  }

  [[nodiscard]] findings found() const override { return found_; }

 private:
  static constexpr std::uint64_t connecting_seed = 2;

  weft::communicator comm_;
  double seconds_;
  std::unique_ptr<workload> connect_;
  double bytes_before_;  // with all buffers of this program, and no connections
  findings found_;
};

}  // namespace

std::unique_ptr<workload> make_idle(const weft::communicator& comm, const options& asked) {
  return std::make_unique<idle>(comm, asked);
}

}  // namespace weft::bench
