// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "arguments.hpp"
#include "latencies.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <memory>
#include <optional>

namespace weft::bench {

/// What ranks exchange with each other.
struct extent {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
};

/// What a scenario that compares two cases is at.
enum class variant { baseline, measured };

/// What single scenarios find out beside messages and time; the highest of all ranks is printed.
struct findings {
  std::optional<double> hold_us;            ///< the longest that starting an operation held the loop
  std::optional<double> bytes_per_peer;     ///< memory that a connection takes at one of its ends
  std::optional<double> idle_cpu_us_per_s;  ///< processor time of a rank that has nothing to do

  template <class Archive>
  void serialize(Archive& archive) {
    archive(hold_us, bytes_per_peer, idle_cpu_us_per_s);
  }
};

/// What one rank of a crew does over and over. All of them run the same number of units.
class workload {
 public:
  workload() = default;
  workload(const workload&) = delete;
  workload& operator=(const workload&) = delete;
  virtual ~workload() = default;

  /// What a crew exchanges in one unit.
  [[nodiscard]] virtual extent unit() const noexcept = 0;

  /// Exchanges `units`, and ends once all of their messages have arrived.
  virtual boost::asio::awaitable<void> run(std::uint64_t units) = 0;

  /// Changes what is sent from here on. All give the same seed.
  virtual void fill(std::uint64_t seed) = 0;
  /// Throws unless what was received last, into every buffer, was sent with this seed.
  virtual void check(std::uint64_t seed) const = 0;

  /// Of the last run, in scenarios and at ranks that see latencies; else empty.
  [[nodiscard]] virtual const latencies& seen() const noexcept { return seen_; }

  // ---- what few scenarios need

  /// Whether there is more to measure than the first unit.
  [[nodiscard]] virtual bool repeats() const noexcept { return true; }
  /// Whether there is a baseline, which is measured in turn with the rest.
  [[nodiscard]] virtual bool has_baseline() const noexcept { return false; }
  /// Makes ready for one of the two, and takes back what that was; not measured.
  virtual boost::asio::awaitable<void> begin(variant) { co_return; }
  virtual boost::asio::awaitable<void> end() { co_return; }
  /// In the last run, or in `begin`.
  [[nodiscard]] virtual findings found() const { return {}; }

 protected:
  latencies seen_;
};

// What a scenario's row in the table names: what one rank does in it. Each stands in a file of its own.
using workload_maker = std::unique_ptr<workload>(const weft::communicator&, const options&);
workload_maker make_buffer_ping_pong;
workload_maker make_object_ping_pong;
workload_maker make_stream;
workload_maker make_loop_stall;
workload_maker make_key_value;
workload_maker make_idle;
workload_maker make_pending;
workload_maker make_startup;
workload_maker make_any_source;
workload_maker make_all_to_all;
workload_maker make_batches;

}  // namespace weft::bench
