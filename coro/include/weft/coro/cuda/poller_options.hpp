// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>

namespace weft::coro::cuda {

/// How a `poller` finds out that events are done.
enum class waiting {
  polling,   ///< one thread asks: microseconds of delay, and a busy core while something is about to be done
  blocking,  ///< threads sleep in the driver until an event is done: tens of microseconds, and next to no power
};

/// What a `poller` is made with.
struct poller_options {
  waiting mode = waiting::polling;  ///< how to find out

  /// After the last event that was done, or came, the thread asks without a pause for so long. About the time in which
  /// a small transfer is done, so that those are met without a system call.
  std::chrono::microseconds spin_for{50};
  /// Then it asks and offers the core to others, until so long after. A few time slices: a busy machine gets its cores
  /// back, an idle one loses nothing.
  std::chrono::microseconds yield_for{1000};
  /// Then it sleeps for so long between questions: what a long kernel may be late by.
  std::chrono::microseconds sleep_for{100};

  /// Most waits for streams at once; each has an event, made beforehand. Further ones are recorded when one is free.
  std::size_t events = 256;
  /// Of `waiting::blocking`: how many events are waited for at once, the oldest ones.
  std::size_t threads = 1;
};

}  // namespace weft::coro::cuda
