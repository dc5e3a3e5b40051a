// SPDX-License-Identifier: Apache-2.0
#include "measure.hpp"

#include "crew.hpp"
#include "part.hpp"
#include "rounds.hpp"
#include "tags.hpp"
#include "workload.hpp"

#include <weft/engine/objects.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

namespace weft::bench {
namespace {

namespace asio = boost::asio;

// What is compared is measured in turns, because the machine changes its pace.
constexpr int turns = 3;

/// All that one rank, or several, know when it is over.
struct report {
  part measured;
  part baseline;
  start_times start;  ///< of the last

  template <class Archive>
  void serialize(Archive& archive) {
    archive(measured, baseline, start.joining, start.joined);
  }
};

asio::awaitable<part> take_turn(const crew& members, workload& work, variant which, double seconds) {
  co_await work.begin(which);
  part own = co_await run_measured(members, work, seconds);
  co_await work.end();
  co_return own;
}

asio::awaitable<void> take_all_turns(const crew& members, workload& work, double seconds, report& own) {
  if (!work.has_baseline()) {
    own.measured = co_await take_turn(members, work, variant::measured, seconds);
    co_return;
  }
  for (int turn = 0; turn < turns; ++turn) {
    const part baseline = co_await take_turn(members, work, variant::baseline, seconds / turns);
    const part measured = co_await take_turn(members, work, variant::measured, seconds / turns);
    own.baseline.append(baseline);
    own.measured.append(measured);
  }
}

void add(report& all, const report& one) {
  all.measured.add(one.measured);
  all.baseline.add(one.baseline);
  all.start.joining = std::max(all.start.joining, one.start.joining);
  all.start.joined = std::max(all.start.joined, one.start.joined);
}

/// Rank 0 gets the sum of all; the result of the others is their own.
asio::awaitable<report> collect(const weft::communicator& comm, report own) {
  if (comm.rank() != 0) co_await send_objects(comm, to(0, tags::part), own);
  if (comm.rank() != 0) co_return own;
  for (int i = 1; i < comm.size(); ++i) {
    auto [envelope, other] = co_await recv_objects<report>(comm, from(i, tags::part));
    add(own, other);
  }
  co_return own;
}

std::optional<latency_figures> latencies_of(const latencies& seen) {
  if (seen.count() == 0) return std::nullopt;
  const auto microseconds = [](std::chrono::nanoseconds time) { return static_cast<double>(time.count()) / 1e3; };
  return latency_figures{microseconds(seen.quantile(0.5)), microseconds(seen.quantile(0.99)), microseconds(seen.max())};
}

latencies all_seen(const part& one) {
  latencies both = one.leading.seen;
  both.add(one.others.seen);
  return both;
}

std::string name_of(std::optional<weft::transport> which) {
  if (which == weft::transport::unix_socket) return "unix";
  return which == weft::transport::tcp ? "tcp" : "automatic";
}

void describe(figures& result, const options& asked, const weft::communicator& comm) {
  result.scenario = asked.what.name;
  result.route = name(asked.route);
  result.transport = name_of(asked.transport);
  result.device = comm.device_name();
  result.ranks = comm.size();
  result.size = asked.size;
  result.in_flight = asked.in_flight;
}

figures figures_of(const report& all, const options& asked, const weft::communicator& comm) {
  figures result;
  describe(result, asked, comm);
  const part& measured = all.measured;
  result.messages = measured.exchanged.messages;
  result.bytes = measured.exchanged.bytes;
  result.seconds = measured.seconds;
  result.latency = latencies_of(all_seen(measured));
  result.leading_latency = latencies_of(measured.leading.seen);
  result.other_latency = latencies_of(measured.others.seen);
  result.leading_cpu_us = measured.leading.cpu_seconds * 1e6;
  result.other_cpu_us = measured.others.cpu_seconds * 1e6;
  result.allocations = measured.allocations;
  if (const part& base = all.baseline; base.exchanged.messages != 0)
    result.baseline_messages_per_s = static_cast<double>(base.exchanged.messages) / base.seconds;
  result.baseline_latency = latencies_of(all_seen(all.baseline));
  result.found = measured.found;
  result.startup_s = all.start.joined;
  result.join_s = all.start.joined - all.start.joining;
  return result;
}

}  // namespace

asio::awaitable<std::optional<figures>> measure(weft::communicator comm, options asked, start_times start) {
  const crew members(comm, asked.what.who);
  const std::unique_ptr<workload> work = asked.what.make(comm, asked);
  report own;
  own.start = start;
  co_await take_all_turns(members, *work, asked.seconds, own);
  const report all = co_await collect(comm, std::move(own));
  if (comm.rank() != 0) co_return std::nullopt;
  co_return figures_of(all, asked, comm);
}

}  // namespace weft::bench
