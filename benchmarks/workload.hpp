// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "arguments.hpp"
#include "latencies.hpp"

#include <weft/engine/communicator.hpp>

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <memory>
#include <utility>

namespace weft::bench {

/// The tags of this program.
namespace tags {
enum : std::uint64_t { payload, all_arrived, round, ready, go, part };
}

/// One end of a pair: what it exchanges, with whom, and how.
struct pair_end {
  weft::communicator comm;
  destination payload_to;
  origin payload_from;
  std::size_t size = 0;

  pair_end(weft::communicator own, const options& asked)
      : comm(std::move(own)),
        payload_to(to(comm.rank() ^ 1, tags::payload).via(asked.route)),
        payload_from(from(comm.rank() ^ 1, tags::payload)),
        size(asked.size) {}

  /// The even rank opens every exchange, and its clock is the pair's.
  [[nodiscard]] bool leads() const noexcept { return comm.rank() % 2 == 0; }
  [[nodiscard]] int peer() const noexcept { return payload_to.rank; }
};

/// What one end of a pair does over and over. Both ends run the same number of units.
class workload {
 public:
  workload() = default;
  workload(const workload&) = delete;
  workload& operator=(const workload&) = delete;
  virtual ~workload() = default;

  /// The messages that a pair exchanges in one unit.
  [[nodiscard]] virtual std::uint64_t messages_per_unit() const noexcept = 0;

  /// Exchanges `units`, and ends once all of their messages have arrived.
  virtual boost::asio::awaitable<void> run(std::uint64_t units) = 0;

  /// Changes what is sent from here on. Both ends give the same seed.
  virtual void fill(std::uint64_t seed) = 0;
  /// Throws unless what was received last, into every buffer, was sent with this seed.
  virtual void check(std::uint64_t seed) const = 0;

  /// Round trips of the last run, at the leading end of those workloads that wait for each answer; else empty.
  [[nodiscard]] virtual const latencies& round_trips() const noexcept = 0;
};

[[nodiscard]] std::unique_ptr<workload> make_buffer_ping_pong(const pair_end& end);
[[nodiscard]] std::unique_ptr<workload> make_object_ping_pong(const pair_end& end);
[[nodiscard]] std::unique_ptr<workload> make_stream(const pair_end& end, std::size_t in_flight);

}  // namespace weft::bench
