// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "arguments.hpp"

#include <weft/engine/communicator.hpp>

#include <boost/asio/awaitable.hpp>

namespace weft::bench {

/// The ranks that exchange with each other, and so run the same number of units: a pair, or all.
struct crew {
  weft::communicator comm;
  int first;  ///< its clock is that of the crew
  int count;

  crew(const weft::communicator& own, grouping who)
      : comm(own),
        first(who == grouping::pairs ? own.rank() - own.rank() % 2 : 0),
        count(who == grouping::pairs ? 2 : own.size()) {}

  [[nodiscard]] bool leads() const noexcept { return comm.rank() == first; }
};

/// Ends once all ranks of the group have called it.
[[nodiscard]] boost::asio::awaitable<void> wait_for_all(weft::communicator comm);

}  // namespace weft::bench
