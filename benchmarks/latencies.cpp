// SPDX-License-Identifier: Apache-2.0
#include "latencies.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

namespace weft::bench {
namespace {

// Each power of two is cut into 128 buckets; below 256 ns every value has its own.
constexpr unsigned precision_bits = 7;
constexpr std::size_t buckets_per_power = std::size_t{1} << precision_bits;
constexpr std::size_t bucket_count = (64 - precision_bits + 1) * buckets_per_power;

unsigned shift_of(std::uint64_t value) noexcept {
  const auto width = static_cast<unsigned>(std::bit_width(value));
  return width > precision_bits + 1 ? width - precision_bits - 1 : 0;
}

std::size_t bucket_of(std::uint64_t value) noexcept {
  const unsigned shift = shift_of(value);
  return shift * buckets_per_power + (value >> shift);
}

std::uint64_t middle_of(std::size_t bucket) noexcept {
  if (bucket < 2 * buckets_per_power) return bucket;
  const std::size_t shift = bucket / buckets_per_power - 1;
  const std::uint64_t low = (bucket - shift * buckets_per_power) << shift;
  return low + (std::uint64_t{1} << shift) / 2;
}

}  // namespace

latencies::latencies() : buckets_(bucket_count) {}

void latencies::record(std::chrono::nanoseconds each) noexcept {
  const auto value = static_cast<std::uint64_t>(each.count());
  ++buckets_[bucket_of(value)];
  ++count_;
  max_ = std::max(max_, value);
}

void latencies::clear() noexcept {
  std::ranges::fill(buckets_, 0);
  count_ = max_ = 0;
}

void latencies::add(const latencies& others) {
  std::ranges::transform(buckets_, others.buckets_, buckets_.begin(), std::plus<>());
  count_ += others.count_;
  max_ = std::max(max_, others.max_);
}

std::chrono::nanoseconds latencies::quantile(double share) const noexcept {
  const double wanted = std::ceil(share * static_cast<double>(count_));
  std::uint64_t seen = 0;
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    seen += buckets_[bucket];
    // The middle of the last bucket may lie above everything in it.
    if (buckets_[bucket] != 0 && static_cast<double>(seen) >= wanted)
      return std::chrono::nanoseconds(std::min(middle_of(bucket), max_));
  }
  return {};
}

}  // namespace weft::bench
