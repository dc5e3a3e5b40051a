// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocol/launch_gate.hpp"
#include "protocol/log_entry.hpp"

#include <weft/engine/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace weft::protocol {

/// How one rank carries out the log: strictly in order, one set-up at a time, and batches as the gate lets them. Pure:
/// the launch thread tells what has happened, and asks what it can do next.
class log_follower {
 public:
  explicit log_follower(int self, std::size_t resident_communicators = default_resident_communicators)
      : self_(self), gate_(resident_communicators) {}

  /// Whether an entry can come next: numbers increase, and each names one entry.
  [[nodiscard]] bool is_next(const log_entry& entry) const noexcept { return entry.number > last_; }
  /// The next entry of the log, other than an `abort`, which does not wait for its turn.
  void append(log_entry entry) {
    last_ = std::max(last_, entry.number);
    entries_.push_back(std::move(entry));
  }
  /// The unique id of a communicator is known here. Its first member makes it; all others wait for it before `create`.
  void identity_arrived(communicator_id communicator) { identified_.insert(communicator); }
  void rank_gone(int rank, errc why) { gone_.emplace(rank, departure{why, last_}); }
  /// Why a rank has no part in an entry: it was gone before that came. What came before it went, it may have carried
  /// out.
  [[nodiscard]] std::optional<errc> absence(int rank, std::uint64_t entry) const {
    const auto found = gone_.find(rank);
    if (found == gone_.end() || entry <= found->second.last_entry) return std::nullopt;
    return found->second.why;
  }
  /// A communicator has failed, at another rank or at this one: what the log has for it, now and later, ends with that
  /// code. The first one stays.
  void failed_elsewhere(communicator_id communicator, boost::system::error_code code) {
    failed_.emplace(communicator, code);
  }
  void failed_here(communicator_id communicator, boost::system::error_code code) {
    if (failed_.emplace(communicator, code).second) to_report_.push_back(communicator);
  }
  /// Communicators that have failed here since the last call: the sequencer needs to know.
  [[nodiscard]] std::vector<communicator_id> take_failures() { return std::exchange(to_report_, {}); }
  /// The log is lost: nothing that waits is carried out.
  void clear() { entries_.clear(); }

  /// What to carry out now, if anything. A `create`, `connect` or `evict` is under way until `set_up_ended`, a batch
  /// until `batch_ended`, and a lease, beside which nothing is, until `lease_ended`. A batch of a communicator that has
  /// failed is given, too, for its end to be reported.
  [[nodiscard]] std::optional<log_entry> next();

  /// The set-up under way has ended; gives its entry. A communicator that could not be created has failed here. So has
  /// one that could not connect to a rank which is not gone: with a rank that is, nothing else has to end.
  log_entry set_up_ended(boost::system::error_code code);
  void batch_ended(communicator_id communicator) { gate_.finished(communicator); }

  void lease_ended() { is_leased_ = false; }

  [[nodiscard]] bool is_setting_up() const noexcept { return set_up_.has_value(); }
  /// Entries that wait.
  [[nodiscard]] std::size_t waiting() const noexcept { return entries_.size(); }
  /// Nothing waits, and nothing is under way.
  [[nodiscard]] bool is_idle() const noexcept { return entries_.empty() && !set_up_ && !is_leased_ && gate_.is_idle(); }
  /// Null where it has not failed.
  [[nodiscard]] const boost::system::error_code* failure_of(communicator_id communicator) const;
  /// As what an operation with `peer` ends that the log has for a communicator; nothing where that has not failed.
  /// Where the loss of a member is the reason, only operations with that one say so.
  [[nodiscard]] std::optional<boost::system::error_code> failure_for(communicator_id communicator, int peer) const;

 private:
  enum class readiness : std::uint8_t {
    ready,
    waits,
    pointless,  ///< its communicator has failed
  };

  [[nodiscard]] readiness check(const log_entry& entry);
  [[nodiscard]] readiness check_create(communicator_id communicator, const create& what);
  [[nodiscard]] std::size_t choose();
  void begin(log_entry& entry);

  // Deliberate faults.
  void merge_what_has_come(log_entry& into);
  void choose_own_victim(log_entry& eviction);

  int self_;
  launch_gate gate_;
  std::deque<log_entry> entries_;
  std::optional<log_entry> set_up_;
  bool is_leased_ = false;
  std::set<communicator_id> identified_;
  std::map<communicator_id, boost::system::error_code> failed_;
  std::vector<communicator_id> to_report_;
  struct departure {
    errc why;
    std::uint64_t last_entry;  ///< that had come before it
  };
  std::map<int, departure> gone_;
  std::uint64_t last_ = 0;
};

}  // namespace weft::protocol
