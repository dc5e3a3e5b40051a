// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "arguments.hpp"
#include "tags.hpp"

#include <weft/engine/communicator.hpp>

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <utility>

namespace weft::bench {

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

  /// For what goes one way, from the leading end: a send may complete before its message has arrived, and the clock
  /// runs until the other end has them all.
  [[nodiscard]] boost::asio::awaitable<void> all_arrived() const;
};

}  // namespace weft::bench
