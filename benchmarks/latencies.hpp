// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::bench {

/// Durations, counted in buckets less than a hundredth as wide as their value: any number of them takes the same
/// memory, recording one costs nanoseconds, and those of several ranks add up.
class latencies {
 public:
  latencies();

  void record(std::chrono::nanoseconds each) noexcept;
  void clear() noexcept;
  void add(const latencies& others);

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  /// The smallest duration that `share` of all (0 to 1) do not exceed, to within its bucket. Zero where there are none.
  [[nodiscard]] std::chrono::nanoseconds quantile(double share) const noexcept;
  [[nodiscard]] std::chrono::nanoseconds max() const noexcept { return std::chrono::nanoseconds(max_); }

  template <class Archive>
  void serialize(Archive& archive) {
    archive(buckets_, count_, max_);
  }

 private:
  std::vector<std::uint64_t> buckets_;
  std::uint64_t count_ = 0;
  std::uint64_t max_ = 0;
};

}  // namespace weft::bench
