// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "program.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace weft::simulation {

/// What MPI's rules say about one receiver, in the plainest way: lists that are searched from the front. It is told the
/// same events as the endpoint, and says which message each receive has to get.
class reference_matcher {
 public:
  explicit reference_matcher(const program& of) : program_(&of) {}

  void arrive(int send);
  void post(int receive);
  /// An operation has gone for good, before or after it was matched. Its other half, if it had one, goes back to its
  /// old place, unless it leaves, too.
  void leave(const std::set<int>& operations);
  /// The sender of these is lost, and they did not arrive whole: no receive gets one of them any more.
  void drop(std::set<int> sends);
  /// A match is over: it was carried out, or both ends have failed.
  void end(int receive) { pairs_.erase(receive); }

  /// The message that a receive has to get.
  [[nodiscard]] std::optional<int> message_of(int receive) const;
  /// The other half of a match that is not over.
  [[nodiscard]] std::optional<int> partner_of(int operation) const;
  /// Messages that have arrived and are not matched.
  [[nodiscard]] std::size_t waiting() const noexcept { return messages_.size(); }

 private:
  void offer(int send);
  void serve(int receive);
  [[nodiscard]] bool satisfies(int send, int receive) const;

  const program* program_;
  std::map<std::uint64_t, int> messages_;  ///< that wait, by order of arrival
  std::map<std::uint64_t, int> receives_;  ///< that wait, by order of posting
  std::map<int, std::uint64_t> order_;     ///< of arrival or posting, by operation
  std::map<int, int> pairs_;               ///< by receive
  std::set<int> dropped_;
  std::uint64_t events_ = 0;
};

}  // namespace weft::simulation
