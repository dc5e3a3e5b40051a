// SPDX-License-Identifier: Apache-2.0
#include "measure.hpp"

#include "workload.hpp"

#include <weft/engine/objects.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <utility>

namespace weft::bench {
namespace {

namespace asio = boost::asio;

// Of the time to measure: long enough that connections, caches and pools are in the state that lasts.
constexpr double warm_up_share = 0.2;
constexpr std::uint64_t warm_up_growth = 4;
// Of the time to measure: another round for the rest of it would measure little but its own beginning.
constexpr double enough_share = 0.95;

/// How much the two ends of a pair exchange next.
struct round {
  std::uint64_t units = 1;  ///< none: that was all
  bool measured = false;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(units, measured);
  }
};

/// What one rank contributes to the figures.
struct part {
  std::uint64_t messages = 0;  ///< of the pair, counted at its leading end
  double seconds = 0;
  double cpu_seconds = 0;
  latencies round_trips;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(messages, seconds, cpu_seconds, round_trips);
  }
};

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

/// User and system time of this process, all threads.
double cpu_seconds_now() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::unique_ptr<workload> make_workload(const pair_end& end, const options& asked) {
  switch (asked.what.id) {
    case scenario::pingpong:
      return make_buffer_ping_pong(end);
    case scenario::objects:
      return make_object_ping_pong(end);
    case scenario::rate:
    case scenario::bandwidth:
      break;
  }
  return make_stream(end, asked.what.in_flight);
}

/// The leading end decides, and the other learns.
asio::awaitable<round> agree(const pair_end& end, round wanted) {
  if (end.leads()) {
    co_await send_objects(end.comm, to(end.peer(), tags::round), wanted);
    co_return wanted;
  }
  auto [envelope, decided] = co_await recv_objects<round>(end.comm, from(end.peer(), tags::round));
  co_return decided;
}

/// All pairs measure at the same time.
asio::awaitable<void> wait_for_all(const weft::communicator& comm) {
  if (comm.rank() != 0) {
    co_await send_objects(comm, to(0, tags::ready), true);
    co_await recv_objects<bool>(comm, from(0, tags::go));
    co_return;
  }
  for (int i = 1; i < comm.size(); ++i) co_await recv_objects<bool>(comm, from(any_source, tags::ready));
  for (int i = 1; i < comm.size(); ++i) co_await send_objects(comm, to(i, tags::go), true);
}

asio::awaitable<part> run_once(const pair_end& end, workload& work, std::uint64_t units) {
  part own;
  const double cpu_before = cpu_seconds_now();
  const double before = seconds_now();
  co_await work.run(units);
  own.seconds = seconds_now() - before;
  own.cpu_seconds = cpu_seconds_now() - cpu_before;
  own.messages = end.leads() ? units * work.messages_per_unit() : 0;
  co_return own;
}

/// As many units as fill `wanted`, at the pace of the last round.
round filling(double wanted, round last, double took) {
  const double units = static_cast<double>(last.units) * wanted / took;
  return {static_cast<std::uint64_t>(std::max(1.0, std::round(units))), true};
}

round after_warm_up(round last, double took, double wanted) {
  if (took < wanted * warm_up_share) return {last.units * warm_up_growth, false};
  return filling(wanted, last, took);
}

// The machine may have had less time for the warm-up than it has now.
round after_measured(round last, double took, double measured, double wanted) {
  if (measured >= wanted * enough_share) return {0, true};
  return filling(wanted - measured, last, took);
}

/// What a pair does next.
void append(part& all, const part& next) {
  all.messages += next.messages;
  all.seconds += next.seconds;
  all.cpu_seconds += next.cpu_seconds;
  all.round_trips.add(next.round_trips);
}

/// Warms up with ever more units, whose time tells how many fill the time to measure; and measures until it is full.
asio::awaitable<part> run_measured(const pair_end& end, workload& work, double seconds) {
  part all;
  round next;
  for (bool measures = false;;) {
    next = co_await agree(end, next);
    if (next.units == 0) co_return all;
    if (next.measured && !std::exchange(measures, true)) co_await wait_for_all(end.comm);
    part own = co_await run_once(end, work, next.units);
    own.round_trips = work.round_trips();
    if (measures) append(all, own);
    next =
        measures ? after_measured(next, own.seconds, all.seconds, seconds) : after_warm_up(next, own.seconds, seconds);
  }
}

/// What ranks do at the same time.
void add(part& all, const part& one) {
  all.messages += one.messages;
  all.seconds = std::max(all.seconds, one.seconds);
  all.cpu_seconds += one.cpu_seconds;
  all.round_trips.add(one.round_trips);
}

/// Rank 0 gets the sum of all parts; the result of the others is their own.
asio::awaitable<part> collect(const weft::communicator& comm, part own) {
  if (comm.rank() != 0) co_await send_objects(comm, to(0, tags::part), own);
  if (comm.rank() != 0) co_return own;
  for (int i = 1; i < comm.size(); ++i) {
    auto [envelope, other] = co_await recv_objects<part>(comm, from(i, tags::part));
    add(own, other);
  }
  co_return own;
}

std::optional<latency_figures> half_trips(const latencies& round_trips) {
  if (round_trips.count() == 0) return std::nullopt;
  const auto half = [](std::chrono::nanoseconds whole) { return static_cast<double>(whole.count()) / 2e3; };
  return latency_figures{half(round_trips.quantile(0.5)), half(round_trips.quantile(0.99)), half(round_trips.max())};
}

std::string name_of(std::optional<weft::transport> which) {
  if (which == weft::transport::unix_socket) return "unix";
  return which == weft::transport::tcp ? "tcp" : "automatic";
}

figures figures_of(const part& all, const options& asked, const weft::communicator& comm) {
  figures result;
  result.scenario = asked.what.name;
  result.route = name(asked.route);
  result.transport = name_of(asked.transport);
  result.device = comm.device_name();
  result.ranks = comm.size();
  result.size = asked.size;
  result.in_flight = asked.what.in_flight;
  result.messages = all.messages;
  result.seconds = all.seconds;
  result.latency = half_trips(all.round_trips);
  result.cpu_us_per_message = all.cpu_seconds * 1e6 / static_cast<double>(all.messages);
  return result;
}

// Outside of the coroutine, where it makes g++ 12 break down (an internal error, by some paths to this file).
enum : std::uint64_t { first_seed, measured_seed };

}  // namespace

asio::awaitable<std::optional<figures>> measure(weft::communicator comm, options asked) {
  const pair_end end(comm, asked);
  const std::unique_ptr<workload> work = make_workload(end, asked);
  work->fill(first_seed);
  co_await work->run(1);
  work->check(first_seed);
  // Other bytes: what is found afterwards cannot be what the first exchange left behind.
  work->fill(measured_seed);
  part own = co_await run_measured(end, *work, asked.seconds);
  work->check(measured_seed);
  const part all = co_await collect(comm, std::move(own));
  if (comm.rank() != 0) co_return std::nullopt;
  co_return figures_of(all, asked, comm);
}

}  // namespace weft::bench
