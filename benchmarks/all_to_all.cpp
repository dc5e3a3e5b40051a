// SPDX-License-Identifier: Apache-2.0
#include "pattern.hpp"
#include "tags.hpp"
#include "workload.hpp"

#include <weft/engine/communicator.hpp>

#include <chrono>
#include <cstddef>
#include <utility>
#include <vector>

namespace weft::bench {
namespace {

namespace asio = boost::asio;

/// One message from each rank to each other, in one batch at each, over and over. What is seen is how long a batch
/// takes.
class all_to_all final : public workload {
 public:
  all_to_all(weft::communicator comm, const options& asked)
      : comm_(std::move(comm)),
        route_(asked.route),
        peers_(static_cast<std::size_t>(comm_.size() - 1)),
        outgoing_(peers_, std::vector<std::byte>(asked.size)),
        incoming_(outgoing_) {}

  [[nodiscard]] extent unit() const noexcept override {
    const std::uint64_t messages = peers_ * (peers_ + 1);
    return {messages, messages * outgoing_.front().size()};
  }

  asio::awaitable<void> run(std::uint64_t units) override {
    seen_.clear();
    for (; units > 0; --units) {
      const auto before = clock::now();
      weft::batch round;
      for (std::size_t i = 0; i < peers_; ++i) round.recv(incoming_[i], from(rank_of(i), tags::payload));
      for (std::size_t i = 0; i < peers_; ++i) round.send(outgoing_[i], to(rank_of(i), tags::payload).via(route_));
      co_await comm_.batch(round);
      seen_.record(clock::now() - before);
    }
  }

  void fill(std::uint64_t seed) override {
    for (std::size_t i = 0; i < peers_; ++i) bench::fill(outgoing_[i], seed_of(seed, comm_.rank(), rank_of(i)));
  }
  void check(std::uint64_t seed) const override {
    for (std::size_t i = 0; i < peers_; ++i) bench::check(incoming_[i], seed_of(seed, rank_of(i), comm_.rank()));
  }

 private:
  using clock = std::chrono::steady_clock;

  /// All but this one, beginning with the next, so that not all send to rank 0 first.
  [[nodiscard]] int rank_of(std::size_t peer) const noexcept {
    return (comm_.rank() + 1 + static_cast<int>(peer)) % comm_.size();
  }

  static std::uint64_t seed_of(std::uint64_t seed, int source, int target) noexcept {
    const auto ranks = static_cast<std::uint64_t>(max_ranks);
    return (seed * ranks + static_cast<std::uint64_t>(source)) * ranks + static_cast<std::uint64_t>(target);
  }

  weft::communicator comm_;
  weft::route route_;
  std::size_t peers_;
  std::vector<std::vector<std::byte>> outgoing_;
  std::vector<std::vector<std::byte>> incoming_;
};

}  // namespace

std::unique_ptr<workload> make_all_to_all(const weft::communicator& comm, const options& asked) {
  return std::make_unique<all_to_all>(comm, asked);
}

}  // namespace weft::bench
