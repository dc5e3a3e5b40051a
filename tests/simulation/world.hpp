// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedule.hpp"

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace weft::simulation {

/// What must not happen has happened. The first word of the text says what kind it is: `hang`, `payload`, `outcome`,
/// `buffer`, `device`, `protocol` or `leftover`.
class violation : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// How the machines are on which a program runs.
struct setting {
  std::uint32_t seed = 0;    ///< of the program
  std::uint32_t delays = 0;  ///< the seed of all that is left to chance while it runs
  int ranks = 4;
  int messages = 40;
  std::size_t residency = 1;            ///< communicators that may have unfinished groups on a device
  std::size_t pair_budget = 16;         ///< pair communicators that a rank may have
  std::uint64_t eviction_patience = 0;  ///< entries of the log
  bool set_up_synchronizes = true;      ///< set-ups wait until the device is quiet
  bool groups_get_stuck = false;        ///< some never end, and are aborted by the launch timeout
  int leases = 0;                       ///< that all members of some group ask for
  int lost_rank = -1;                   ///< is lost while the program runs; none if negative
  std::uint64_t lost_at = 0;            ///< ticks
};

/// The memory of one operation. Its elements stand for bytes.
struct buffer {
  using contents = std::vector<std::uint16_t>;

  std::string of;  ///< the name of the operation
  contents content;
  bool ready = true;      ///< a kernel of the user has finished with it
  bool released = false;  ///< the operation is over: it is the user's again

  /// Whoever reads or writes it says so first.
  void touch(const char* who) const {
    if (!released && ready) return;
    throw violation("buffer: " + std::string(who) + " touches the buffer of " + of +
                    (released ? " after its end" : " before it is ready"));
  }
};

/// What all parts of a simulation share.
struct world {
  explicit world(const setting& how, std::ostream* trace_to) : time(how.delays), trace(trace_to) {}

  schedule time;
  std::ostream* trace;

  /// Writes a line of the trace, if there is one.
  template <class... Parts>
  void note(int rank, const Parts&... parts) {
    if (trace == nullptr) return;
    *trace << time.now() << "\trank " << rank << '\t';
    (*trace << ... << parts);
    *trace << '\n';
  }
};

}  // namespace weft::simulation
