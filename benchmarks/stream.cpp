// SPDX-License-Identifier: Apache-2.0
#include "pattern.hpp"
#include "workload.hpp"

#include <weft/engine/objects.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <cstddef>
#include <exception>
#include <vector>

namespace weft::bench {
namespace {

namespace asio = boost::asio;

/// One way, a fixed number of messages in flight: as many coroutines, each of which sends or receives one message after
/// another. A unit is one message of each.
class stream final : public workload {
 public:
  stream(const pair_end& end, std::size_t in_flight)
      : end_(end), in_flight_(in_flight), outgoing_(end.leads() ? end.size : 0) {
    if (!end.leads()) incoming_.assign(in_flight, std::vector<std::byte>(end.size));
  }

  [[nodiscard]] std::uint64_t messages_per_unit() const noexcept override { return in_flight_; }

  asio::awaitable<void> run(std::uint64_t units) override {
    co_await run_slots(units);
    // A send may complete before its message has arrived: the clock runs until the other end has them all.
    if (end_.leads())
      co_await recv_objects<bool>(end_.comm, from(end_.peer(), tags::all_arrived));
    else
      co_await send_objects(end_.comm, to(end_.peer(), tags::all_arrived), true);
  }

  void fill(std::uint64_t seed) override { bench::fill(outgoing_, seed); }
  void check(std::uint64_t seed) const override {
    for (const auto& each : incoming_) bench::check(each, seed);
  }

  [[nodiscard]] const latencies& round_trips() const noexcept override { return none_; }

 private:
  asio::awaitable<void> run_slots(std::uint64_t units) {
    const auto executor = co_await asio::this_coro::executor;
    using operation = decltype(asio::co_spawn(executor, send_slot(units), asio::deferred));
    std::vector<operation> slots;
    for (std::size_t slot = 0; slot < in_flight_; ++slot)
      slots.push_back(
          asio::co_spawn(executor, end_.leads() ? send_slot(units) : receive_slot(slot, units), asio::deferred));
    auto group = asio::experimental::make_parallel_group(std::move(slots));
    const auto [order, problems] =
        co_await group.async_wait(asio::experimental::wait_for_one_error(), asio::use_awaitable);
    for (const std::size_t slot : order)
      if (problems[slot]) std::rethrow_exception(problems[slot]);
  }

  asio::awaitable<void> send_slot(std::uint64_t messages) {
    for (; messages > 0; --messages) co_await end_.comm.send(outgoing_, end_.payload_to);
  }

  asio::awaitable<void> receive_slot(std::size_t slot, std::uint64_t messages) {
    for (; messages > 0; --messages) co_await end_.comm.recv(incoming_[slot], end_.payload_from);
  }

  pair_end end_;
  std::size_t in_flight_;
  std::vector<std::byte> outgoing_;               // of the leading end
  std::vector<std::vector<std::byte>> incoming_;  // of the other, one for each slot
  latencies none_;
};

}  // namespace

std::unique_ptr<workload> make_stream(const pair_end& end, std::size_t in_flight) {
  return std::make_unique<stream>(end, in_flight);
}

}  // namespace weft::bench
