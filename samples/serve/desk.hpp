// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dispatcher.hpp"
#include "head_count.hpp"
#include "options.hpp"

#include <weft/engine/communicator.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace serve {

/// What has become of the requests so far.
struct counters {
  std::uint64_t requests = 0;  ///< posted to /count and well-formed; each ends in one of the next six
  std::uint64_t answered = 0;
  std::uint64_t refused = 0;
  std::uint64_t failed = 0;
  std::uint64_t too_late = 0;
  std::uint64_t cut_off = 0;
  std::uint64_t cancelled = 0;    ///< the client left
  std::uint64_t failed_over = 0;  ///< attempts that another worker had to repeat
  std::uint64_t given_up = 0;     ///< requests that a worker says it stopped working on

  void add(ending how) noexcept;
};

/// What the sessions of the front share. All of it belongs to one thread.
struct desk {
  desk(weft::communicator group, const options& given, boost::asio::any_io_executor where)
      : comm(std::move(group)),
        executor(std::move(where)),
        settings(given),
        workers(comm.size() - 1, given.capacity),
        under_way(executor) {}

  weft::communicator comm;
  boost::asio::any_io_executor executor;
  options settings;
  dispatcher workers;
  counters so_far;
  head_count under_way;
  bool closing = false;
};

/// The counters and the workers, as JSON.
[[nodiscard]] std::string stats_of(const desk& shared);

}  // namespace serve
