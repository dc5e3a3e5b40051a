// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

namespace weft::gpu {

/// What each round of a measurement took.
class durations {
 public:
  using clock = std::chrono::steady_clock;

  explicit durations(std::size_t rounds) { microseconds_.reserve(rounds); }

  void add_since(clock::time_point before) {
    microseconds_.push_back(std::chrono::duration<double, std::micro>(clock::now() - before).count());
  }
  [[nodiscard]] std::size_t rounds() const noexcept { return microseconds_.size(); }
  /// The smallest that `share` of all (0 to 1) do not exceed. Precondition: there is one.
  [[nodiscard]] double quantile(double share) const;

 private:
  std::vector<double> microseconds_;
};

/// What one measurement is asked for.
struct measured_exchange {
  std::size_t bytes;
  std::size_t rounds;
};

/// Rounds before the first that counts: connections, pools and caches are warm then.
inline constexpr std::size_t warm_up_rounds = 20;

/// How long it takes to know that a stream is done which has next to nothing to do.
[[nodiscard]] durations waits_by_synchronize(std::size_t rounds);
[[nodiscard]] durations waits_by_host_function(std::size_t rounds);
[[nodiscard]] durations waits_by_poller(std::size_t rounds);

/// A rank that sends to itself, and has received.
[[nodiscard]] durations exchanges_by_nccl(const measured_exchange& asked);
[[nodiscard]] durations exchanges_by_engine(const measured_exchange& asked);

}  // namespace weft::gpu
