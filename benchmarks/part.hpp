// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "latencies.hpp"
#include "workload.hpp"

#include <cereal/types/optional.hpp>

#include <cstdint>

namespace weft::bench {

/// Of the leading ranks, or of the others.
struct side {
  double cpu_seconds = 0;  ///< user and system time
  latencies seen;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(cpu_seconds, seen);
  }
};

/// What one rank, or several, contribute to the figures.
struct part {
  extent exchanged;  ///< by crews, counted at their leading ranks
  double seconds = 0;
  std::uint64_t allocations = 0;
  side leading;
  side others;
  findings found;

  /// What came before takes in what the same rank did next.
  void append(const part& next);
  /// What others did at the same time.
  void add(const part& other);

  template <class Archive>
  void serialize(Archive& archive) {
    archive(exchanged.messages, exchanged.bytes, seconds, allocations, leading, others, found);
  }
};

}  // namespace weft::bench
