// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "two_processes.hpp"

#include <chrono>
#include <span>
#include <vector>

namespace peers {

using const_bytes = std::span<const std::byte>;
using bytes = std::span<std::byte>;

/// Memory that begins with a line of the cache. Where a copy goes less than that further within its page than it comes
/// from, glibc's takes four times as long, and malloc's large blocks begin 16 bytes into theirs.
template <class T>
struct line_allocator {
  using value_type = T;
  static constexpr std::align_val_t line{64};
  T* allocate(std::size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), line)); }
  void deallocate(T* memory, std::size_t) { ::operator delete(memory, line); }
  bool operator==(const line_allocator&) const = default;
};
using message = std::vector<std::byte, line_allocator<std::byte>>;

/// What the command line asks for.
struct job {
  std::string mode;
  std::string scenario;  ///< pingpong, rate or bandwidth
  std::size_t size = 0;
  double seconds = 0;

  [[nodiscard]] bool is_ping_pong() const { return scenario == "pingpong"; }
  /// The windows of weft-bench.
  [[nodiscard]] std::size_t in_flight() const { return is_ping_pong() ? 1 : scenario == "rate" ? 64 : 8; }
  [[nodiscard]] std::size_t messages_per_unit() const { return is_ping_pong() ? 2 : in_flight(); }
};

inline job parse_job(int argc, char** argv) {
  if (argc != 5) throw std::invalid_argument("usage: PROGRAM MODE pingpong|rate|bandwidth SIZE SECONDS");
  return {argv[1], argv[2], std::stoull(argv[3]), std::stod(argv[4])};
}

/// The buffers of one process, and the times of its round trips.
struct exchange {
  using clock = std::chrono::steady_clock;

  exchange(const job& asked, const process& self) : what(asked), own(self), outgoing(asked.size) {
    if (asked.is_ping_pong() || !own.leads()) incoming.assign(asked.in_flight(), message(asked.size));
  }

  /// Both ends give the same seed; what they write differs.
  void fill(unsigned seed) {
    for (std::size_t i = 0; i < outgoing.size(); ++i) outgoing[i] = pattern(i, 2 * seed + own.rank());
  }
  void check(unsigned seed) const {
    for (const message& each : incoming)
      for (std::size_t i = 0; i < each.size(); ++i)
        if (each[i] != pattern(i, 2 * seed + own.other())) throw std::runtime_error("a message arrived damaged");
  }
  static std::byte pattern(std::size_t at, unsigned seed) {
    return static_cast<std::byte>(((at + (std::uint64_t{seed} << 40)) * 0x9e3779b97f4a7c15U) >> 56);
  }
  void record(clock::time_point before) { round_trips.push_back((clock::now() - before).count()); }

  job what;
  process own;
  message outgoing;
  std::vector<message> incoming;          ///< one for each message in flight
  std::vector<std::int64_t> round_trips;  ///< in nanoseconds, of rank 0
};

}  // namespace peers
