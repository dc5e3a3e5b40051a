// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocol/log_entry.hpp"
#include "protocol/mutation.hpp"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <vector>

namespace weft::protocol {

/// Communicators that may have unfinished groups on one device at a time. A waiting kernel keeps its multiprocessors;
/// groups of a few communicators surely fit on the device together, and only what fits can make progress.
inline constexpr std::size_t default_resident_communicators = 4;

/// Decides, on one rank, whether the next batch of the log may be issued. Where more communicators were resident than
/// the device has room for, the device would choose who runs, each one differently, and the ranks would wait in a ring.
class launch_gate {
 public:
  explicit launch_gate(std::size_t limit = default_resident_communicators) : limit_(limit) {
    assert(limit > 0 && "a gate that lets nothing through");
  }

  /// Whether a group on `communicator` keeps within the limit. If not, the launch thread waits: it never issues a later
  /// entry instead.
  [[nodiscard]] bool may_issue(communicator_id communicator) const {
    return residents_.size() < limit_ || is_mutated(mutation::no_gate) || is_resident(communicator);
  }

  void issued(communicator_id communicator) {
    const auto found = find(communicator);
    if (found == residents_.end())
      residents_.push_back({communicator, 1});
    else
      ++found->unfinished;
  }

  /// Whether something that was issued on it is unfinished.
  [[nodiscard]] bool is_resident(communicator_id communicator) const {
    return std::any_of(residents_.begin(), residents_.end(), [=](const resident& one) { return one.is(communicator); });
  }
  /// Nothing that was issued is unfinished.
  [[nodiscard]] bool is_idle() const noexcept { return residents_.empty(); }

  /// One group that was issued on `communicator` is over.
  void finished(communicator_id communicator) {
    const auto found = find(communicator);
    assert(found != residents_.end() && "no group of this communicator was issued");
    if (--found->unfinished != 0) return;
    *found = residents_.back();  // their order means nothing
    residents_.pop_back();
  }

 private:
  struct resident {
    communicator_id communicator;
    std::size_t unfinished;
    [[nodiscard]] bool is(communicator_id other) const { return communicator == other; }
  };

  std::vector<resident>::iterator find(communicator_id communicator) {
    return std::find_if(residents_.begin(), residents_.end(),
                        [=](const resident& one) { return one.is(communicator); });
  }

  std::size_t limit_;
  std::vector<resident> residents_;  ///< at most `limit_`, so few that a search beats a map
};

}  // namespace weft::protocol
