// SPDX-License-Identifier: Apache-2.0
#include "pair_end.hpp"
#include "pattern.hpp"
#include "workload.hpp"

#include <chrono>
#include <cstddef>
#include <vector>

namespace weft::bench {
namespace {

namespace asio = boost::asio;

/// So many messages each way in one batch at each end, over and over. What is seen is how long a batch takes.
class batches final : public workload {
 public:
  batches(const pair_end& end, std::size_t each_way)
      : end_(end), outgoing_(each_way, std::vector<std::byte>(end.size)), incoming_(outgoing_) {}

  [[nodiscard]] extent unit() const noexcept override {
    return {2 * outgoing_.size(), 2 * outgoing_.size() * end_.size};
  }

  asio::awaitable<void> run(std::uint64_t units) override {
    seen_.clear();
    for (; units > 0; --units) {
      const auto before = clock::now();
      weft::batch all;
      for (auto& each : incoming_) all.recv(each, end_.payload_from);
      for (const auto& each : outgoing_) all.send(each, end_.payload_to);
      co_await end_.comm.batch(all);
      seen_.record(clock::now() - before);
    }
  }

  void fill(std::uint64_t seed) override {
    for (std::size_t i = 0; i < outgoing_.size(); ++i) bench::fill(outgoing_[i], seed_of(seed, i, end_.leads()));
  }
  void check(std::uint64_t seed) const override {
    for (std::size_t i = 0; i < incoming_.size(); ++i) bench::check(incoming_[i], seed_of(seed, i, !end_.leads()));
  }

 private:
  using clock = std::chrono::steady_clock;

  // Messages of one tag arrive in the order in which they were sent, and so each in the buffer of its number.
  [[nodiscard]] std::uint64_t seed_of(std::uint64_t seed, std::size_t position, bool of_leading) const noexcept {
    return (seed * outgoing_.size() + position) * 2 + (of_leading ? 1 : 0);
  }

  pair_end end_;
  std::vector<std::vector<std::byte>> outgoing_;
  std::vector<std::vector<std::byte>> incoming_;
};

}  // namespace

std::unique_ptr<workload> make_batches(const weft::communicator& comm, const options& asked) {
  return std::make_unique<batches>(pair_end(comm, asked), asked.in_flight);
}

}  // namespace weft::bench
