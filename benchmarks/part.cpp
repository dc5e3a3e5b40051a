// SPDX-License-Identifier: Apache-2.0
#include "part.hpp"

#include <algorithm>

namespace weft::bench {
namespace {

void add_side(side& all, const side& one) {
  all.cpu_seconds += one.cpu_seconds;
  all.seen.add(one.seen);
}

/// The result is everything but the time.
void add_counts(part& all, const part& one) {
  all.exchanged.messages += one.exchanged.messages;
  all.exchanged.bytes += one.exchanged.bytes;
  all.allocations += one.allocations;
  add_side(all.leading, one.leading);
  add_side(all.others, one.others);
  // Where there is nothing in one of them, the other is greater.
  all.found.hold_us = std::max(all.found.hold_us, one.found.hold_us);
  all.found.bytes_per_peer = std::max(all.found.bytes_per_peer, one.found.bytes_per_peer);
  all.found.idle_cpu_us_per_s = std::max(all.found.idle_cpu_us_per_s, one.found.idle_cpu_us_per_s);
}

}  // namespace

void part::append(const part& next) {
  add_counts(*this, next);
  seconds += next.seconds;
}

void part::add(const part& other) {
  add_counts(*this, other);
  seconds = std::max(seconds, other.seconds);
}

}  // namespace weft::bench
