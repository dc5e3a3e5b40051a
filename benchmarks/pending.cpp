// SPDX-License-Identifier: Apache-2.0
#include "pair_end.hpp"
#include "started.hpp"
#include "wrapped_workload.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace weft::bench {
namespace {

namespace asio = boost::asio;

/// A ping-pong while so many receives are pending at each end, and so many messages wait there for a receive; none of
/// which matches. The baseline is one of each. Afterwards they find what they have waited for.
class pending final : public wrapped_workload {
 public:
  pending(const weft::communicator& comm, const options& asked)
      : wrapped_workload(make_buffer_ping_pong(comm, asked)), end_(comm, asked), most_(asked.in_flight) {}

  [[nodiscard]] bool has_baseline() const noexcept override { return true; }

  asio::awaitable<void> begin(variant next) override {
    const std::size_t count = next == variant::baseline ? 1 : most_;
    outgoing_.resize(count);
    for (std::size_t i = 0; i < count; ++i) outgoing_[i] = number_at(i, end_.comm.rank());
    awaited_.assign(count, 0);
    receives_.emplace(end_.comm.batch(receives_of(awaited_, tags::pending_receive)));
    // They overtake nothing: once the first ping arrives these have.
    co_await end_.comm.batch(sends_of(tags::pending_message));
  }

  asio::awaitable<void> end() override {
    std::vector<std::uint64_t> waiting(outgoing_.size());
    co_await end_.comm.batch(receives_of(waiting, tags::pending_message));
    co_await end_.comm.batch(sends_of(tags::pending_receive));
    co_await receives_->finish();
    receives_.reset();
    check_numbers(waiting, "waited for a receive");
    check_numbers(awaited_, "was waited for");
  }

 private:
  // Small, so that all of them find credit at the receiver; each has a tag of its own, which is the hardest to search.
  [[nodiscard]] batch sends_of(std::uint64_t first_tag) const {
    batch all;
    for (std::size_t i = 0; i < outgoing_.size(); ++i)
      all.send(std::span(outgoing_).subspan(i, 1), to(end_.peer(), first_tag + i));
    return all;
  }

  // Every other one would take a message from anyone.
  [[nodiscard]] batch receives_of(std::span<std::uint64_t> numbers, std::uint64_t first_tag) const {
    batch all;
    for (std::size_t i = 0; i < numbers.size(); ++i)
      all.recv(numbers.subspan(i, 1), i % 2 == 0 ? from(end_.peer(), first_tag + i) : from(any_source, first_tag + i));
    return all;
  }

  static std::uint64_t number_at(std::size_t position, int rank) noexcept {
    return position * static_cast<std::size_t>(max_ranks) + static_cast<std::uint64_t>(rank);
  }

  void check_numbers(std::span<const std::uint64_t> arrived, const std::string& what) const {
    for (std::size_t i = 0; i < arrived.size(); ++i) {
      if (arrived[i] == number_at(i, end_.peer())) continue;
      throw std::runtime_error("message " + std::to_string(i) + " of those that " + what + " arrived damaged: it is " +
                               std::to_string(arrived[i]) + " and should be " +
                               std::to_string(number_at(i, end_.peer())));
    }
  }

  pair_end end_;
  std::size_t most_;
  std::vector<std::uint64_t> outgoing_;
  std::vector<std::uint64_t> awaited_;
  std::optional<started<batch_operation>> receives_;
};

}  // namespace

std::unique_ptr<workload> make_pending(const weft::communicator& comm, const options& asked) {
  return std::make_unique<pending>(comm, asked);
}

}  // namespace weft::bench
