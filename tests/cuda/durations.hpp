// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace weft::gpu {

/// What each round of a measurement took, but for the first ones: connections, pools and caches are warm after them.
class durations {
 public:
  using clock = std::chrono::steady_clock;

  explicit durations(std::size_t rounds) : rounds_(rounds), warm_up_(std::min(rounds, most_warm_up)) {
    microseconds_.reserve(rounds);
  }

  [[nodiscard]] bool complete() const noexcept { return microseconds_.size() == rounds_; }
  /// Ends a round.
  void add_since(clock::time_point before) {
    const std::chrono::duration<double, std::micro> taken = clock::now() - before;
    if (warm_up_ == 0) return microseconds_.push_back(taken.count());
    --warm_up_;
  }

  [[nodiscard]] std::size_t rounds() const noexcept { return rounds_; }
  /// The smallest that `share` of all (0 to 1) do not exceed. Precondition: there is one.
  [[nodiscard]] double quantile(double share) const;

 private:
  static constexpr std::size_t most_warm_up = 20;

  std::size_t rounds_;
  std::size_t warm_up_;
  std::vector<double> microseconds_;
};

/// What one measurement is asked for.
struct measured_exchange {
  std::size_t bytes;
  std::size_t rounds;
};

/// How long it takes to know that a stream is done which has next to nothing to do.
[[nodiscard]] durations waits_by_synchronize(std::size_t rounds);
[[nodiscard]] durations waits_by_host_function(std::size_t rounds);
[[nodiscard]] durations waits_by_poller(std::size_t rounds);

/// A rank that sends to itself, and has received.
[[nodiscard]] durations exchanges_by_nccl(const measured_exchange& asked);
[[nodiscard]] durations exchanges_by_engine(const measured_exchange& asked);

}  // namespace weft::gpu
