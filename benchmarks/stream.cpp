// SPDX-License-Identifier: Apache-2.0
#include "pair_end.hpp"
#include "pattern.hpp"
#include "together.hpp"
#include "workload.hpp"

#include <cstddef>
#include <utility>
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

  [[nodiscard]] extent unit() const noexcept override { return {in_flight_, in_flight_ * end_.size}; }

  asio::awaitable<void> run(std::uint64_t units) override {
    std::vector<asio::awaitable<void>> slots;
    for (std::size_t slot = 0; slot < in_flight_; ++slot)
      slots.push_back(end_.leads() ? send_slot(units) : receive_slot(slot, units));
    co_await together(std::move(slots));
    co_await end_.all_arrived();
  }

  void fill(std::uint64_t seed) override { bench::fill(outgoing_, seed); }
  void check(std::uint64_t seed) const override {
    for (const auto& each : incoming_) bench::check(each, seed);
  }

 private:
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
};

}  // namespace

std::unique_ptr<workload> make_stream(const weft::communicator& comm, const options& asked) {
  return std::make_unique<stream>(pair_end(comm, asked), asked.in_flight);
}

}  // namespace weft::bench
