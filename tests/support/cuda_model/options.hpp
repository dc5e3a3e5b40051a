// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <limits>
#include <string>

namespace cuda_model {

/// How strict the modelled machine is. The defaults are those of a small, slow and pedantic one.
struct options {
  int resident_kernels = 4;              ///< communicators whose groups fit on a device at once
  bool set_up_synchronizes = true;       ///< creating and connecting communicators wait for the device's kernels
  int in_progress_polls = 2;             ///< how often a non-blocking communicator answers "in progress" at least
  std::size_t device_bytes = 64u << 20;  ///< memory of each device
  /// Nothing moved for so long although something waits: a hang. Most hangs are proved without waiting.
  std::chrono::milliseconds hang_limit = std::chrono::seconds(20);
};

inline constexpr int any_rank = -1;
inline constexpr int for_ever = std::numeric_limits<int>::max();

enum class effect {
  fails,        ///< the call does nothing and returns the code
  lasts,        ///< it does not end: "in progress" where it may return that, else it blocks until `release_lasting`
  fails_later,  ///< it succeeds, and the code becomes its communicator's asynchronous error
};

/// What goes wrong, and when.
struct injection {
  std::string call;     ///< name of the function
  int rank = any_rank;  ///< whose calls count
  int occurrence = 1;   ///< which of the calls from now on
  effect what = effect::fails;
  int code = 0;          ///< a cudaError_t or ncclResult_t
  int polls = for_ever;  ///< how many polls a call `lasts` that may return "in progress"
};

}  // namespace cuda_model
