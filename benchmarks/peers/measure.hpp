// SPDX-License-Identifier: Apache-2.0
// How every peer is measured, as weft-bench measures weft: PROGRAM MODE SCENARIO SIZE SECONDS.
#pragma once

#include "exchange.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string_view>

namespace peers {

/// User and system time of this process.
inline double cpu_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) { return time.tv_sec + time.tv_usec * 1e-6; };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

struct figures {
  double units = 0, seconds = 0, cpu_seconds = 0;
};

/// Runs `units` on both sides; rank 0 gets the figures of both.
template <class Run>
figures run_once(exchange& all, Run&& run, std::uint64_t units) {
  process& own = all.own;
  own.meet();
  const double cpu_before = cpu_seconds();
  const auto before = exchange::clock::now();
  run(units);
  const std::chrono::duration<double> took = exchange::clock::now() - before;
  own.page().cpu_seconds[own.rank()] = cpu_seconds() - cpu_before;
  own.meet();
  return {double(units), took.count(), own.page().cpu_seconds[0] + own.page().cpu_seconds[1]};
}

/// Nanoseconds there and back, to microseconds one way.
inline double half_trip_us(std::vector<std::int64_t>& round_trips, double share) {
  const auto at = round_trips.begin() + std::min<std::size_t>(share * round_trips.size(), round_trips.size() - 1);
  std::nth_element(round_trips.begin(), at, round_trips.end());
  return *at / 2e3;
}

inline void print(std::string_view peer, std::string_view version, exchange& all, const figures& measured) {
  const double messages = measured.units * all.what.messages_per_unit();
  const double rate = messages / measured.seconds;
  std::string latency = R"("p50_us":null,"p99_us":null,"max_us":null)";
  if (auto& trips = all.round_trips; !trips.empty()) {
    std::array<char, 120> text{};
    std::snprintf(text.data(), text.size(), R"("p50_us":%.3f,"p99_us":%.3f,"max_us":%.3f)", half_trip_us(trips, 0.5),
                  half_trip_us(trips, 0.99), half_trip_us(trips, 1));
    latency = text.data();
  }
  std::printf(R"({"peer":"%.*s","version":"%.*s","scenario":"%s","route":"%s","size":%zu,"in_flight":%zu,)"
              R"("messages":%.0f,"seconds":%.6f,%s,"messages_per_s":%.1f,"gb_per_s":%.6f,"cpu_us_per_message":%.3f})"
              "\n",
              int(peer.size()), peer.data(), int(version.size()), version.data(), all.what.scenario.c_str(),
              all.what.mode.c_str(), all.what.size, all.what.in_flight(), messages, measured.seconds, latency.c_str(),
              rate, rate * all.what.size / 1e9, measured.cpu_seconds * 1e6 / messages);
  std::fflush(stdout);
}

/// Grows until a fifth of the time is used; then runs as many as fill what is left of it. 0 units: that was all.
class pace {
 public:
  explicit pace(double seconds) : seconds_(seconds) {}

  [[nodiscard]] std::uint64_t next() const { return next_; }
  [[nodiscard]] const figures& measured() const { return all_; }
  [[nodiscard]] bool measures() const { return measures_; }

  void add(const figures& last) {
    constexpr double warm_up_share = 0.2;
    constexpr double enough_share = 0.95;
    if (measures_) all_ = {all_.units + last.units, all_.seconds + last.seconds, all_.cpu_seconds + last.cpu_seconds};
    if (!measures_ && last.seconds < warm_up_share * seconds_) {
      next_ *= 4;
    } else {
      measures_ = true;
      const double left = seconds_ - all_.seconds;
      const bool is_enough = left < (1 - enough_share) * seconds_;
      next_ = is_enough ? 0 : std::max(1.0, std::round(last.units * left / last.seconds));
    }
  }

 private:
  double seconds_;
  std::uint64_t next_ = 1;
  bool measures_ = false;
  figures all_;
};

/// `run(units)` exchanges that many round trips or windows. Prints what was measured.
template <class Run>
void measure(std::string_view peer, std::string_view version, exchange& all, Run&& run) {
  all.fill(1);
  run_once(all, run, 1);
  all.check(1);
  all.fill(2);  // what is found afterwards cannot be what the first exchange left behind
  pace paced(all.what.seconds);
  std::uint64_t& decided = all.own.page().next_units;
  for (;;) {
    if (all.own.leads()) decided = paced.next();
    all.own.meet();
    const std::uint64_t units = decided;
    if (units == 0) break;
    if (!paced.measures()) all.round_trips.clear();
    paced.add(run_once(all, run, units));
  }
  all.check(2);
  if (all.own.leads()) print(peer, version, all, paced.measured());
}

}  // namespace peers
