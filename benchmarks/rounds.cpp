// SPDX-License-Identifier: Apache-2.0
#include "rounds.hpp"

#include "allocations.hpp"
#include "own_process.hpp"
#include "tags.hpp"

#include <weft/engine/objects.hpp>

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

/// How much a crew exchanges next.
struct round {
  std::uint64_t units = 1;  ///< none: that was all
  bool measured = false;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(units, measured);
  }
};

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The leading rank decides, and the others learn.
asio::awaitable<round> agree(const crew& members, round wanted) {
  if (members.leads()) {
    for (int i = 1; i < members.count; ++i)
      co_await send_objects(members.comm, to(members.first + i, tags::round), wanted);
    co_return wanted;
  }
  auto [envelope, decided] = co_await recv_objects<round>(members.comm, from(members.first, tags::round));
  co_return decided;
}

asio::awaitable<part> run_once(const crew& members, workload& work, std::uint64_t units) {
  part own;
  side& own_side = members.leads() ? own.leading : own.others;
  const std::uint64_t allocations_before = allocations_so_far();
  const double cpu_before = cpu_seconds_now();
  const double before = seconds_now();
  co_await work.run(units);
  own.seconds = seconds_now() - before;
  own_side.cpu_seconds = cpu_seconds_now() - cpu_before;
  own.allocations = allocations_so_far() - allocations_before;
  own_side.seen = work.seen();
  own.found = work.found();
  if (members.leads()) own.exchanged = {units * work.unit().messages, units * work.unit().bytes};
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

/// Warms up with ever more units, whose time tells how many fill the time to measure; and measures until it is full.
asio::awaitable<part> run_rounds(const crew& members, workload& work, double seconds) {
  part all;
  round next;
  for (bool measures = false;;) {
    next = co_await agree(members, next);
    if (next.units == 0) co_return all;
    if (next.measured && !std::exchange(measures, true)) co_await wait_for_all(members.comm);
    const part own = co_await run_once(members, work, next.units);
    if (measures) all.append(own);
    if (!members.leads()) continue;
    next =
        measures ? after_measured(next, own.seconds, all.seconds, seconds) : after_warm_up(next, own.seconds, seconds);
  }
}

// Outside of the coroutine, where it makes g++ 12 break down (an internal error, by some paths to this file).
enum : std::uint64_t { first_seed, measured_seed };

}  // namespace

asio::awaitable<part> run_measured(const crew& members, workload& work, double seconds) {
  work.fill(first_seed);
  part own = co_await run_once(members, work, 1);
  work.check(first_seed);
  if (work.repeats()) {
    // Other bytes: what is found afterwards cannot be what the first exchange left behind.
    work.fill(measured_seed);
    own = co_await run_rounds(members, work, seconds);
    work.check(measured_seed);
  }
  co_return own;
}

}  // namespace weft::bench
