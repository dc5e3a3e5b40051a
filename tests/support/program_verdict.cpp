// SPDX-License-Identifier: Apache-2.0
#include "program_verdict.hpp"

#include <weft/engine/error.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace weft::testing {
namespace {

using simulation::planned_operation;
using simulation::program;

/// All that was reported of one program, and what follows from it.
class judge {
 public:
  judge(const program& what, const std::vector<rank_report>& by_rank)
      : what_(what), reports_(what.operations.size()), receiver_of_(what.operations.size()) {
    for (const rank_report& rank : by_rank)
      for (const operation_report& one : rank.operations) reports_[static_cast<std::size_t>(one.number)] = one;
    for (const rank_report& rank : by_rank) leftovers_.push_back(rank.leftover);
  }

  std::vector<std::string> run() {
    for (const planned_operation& one : what_.operations) {
      if (one.left_out) continue;
      check_end(one);
      if (!one.sending) check_receive(one);
    }
    for (const planned_operation& one : what_.operations)
      if (one.sending && !one.left_out) check_send(one);
    for (const planned_operation& one : what_.operations)
      if (message_of(one)) check_order(one, what_.operations[static_cast<std::size_t>(*message_of(one))]);
    for (int rank = 0; rank < what_.ranks(); ++rank) check_leftover(rank);
    return std::move(found_);
  }

 private:
  [[nodiscard]] const operation_report& report(const planned_operation& of) const {
    return reports_[static_cast<std::size_t>(of.number)];
  }
  [[nodiscard]] bool succeeded(const planned_operation& one) const {
    return report(one).number >= 0 && report(one).code == 0;
  }
  [[nodiscard]] bool failed(const planned_operation& one) const { return report(one).code != 0; }
  [[nodiscard]] int destination_of(const planned_operation& send) const {
    return what_.world_rank(send.group, send.peer);
  }
  /// The send whose message a receive has got, where its bytes name it.
  [[nodiscard]] std::optional<int> message_of(const planned_operation& receive) const {
    if (receive.sending || !succeeded(receive) || receive.units == 0) return std::nullopt;
    const int number = report(receive).message;
    const bool exists = number >= 0 && number < static_cast<int>(what_.operations.size());
    return exists && what_.operations[static_cast<std::size_t>(number)].sending ? std::optional(number) : std::nullopt;
  }
  /// Whether such a send is over when the engine holds its bytes, whatever comes of them.
  [[nodiscard]] bool may_be_taken(const planned_operation& send) const {
    const bool fits = send.via == weft::route::inlined || send.via == weft::route::automatic;
    return fits && send.units <= simulation::eager_units && !send.until_matched;
  }

  void tell(const planned_operation& of, const std::string& what) {
    found_.push_back((of.sending ? "send " : "receive ") + std::to_string(of.number) + " of rank " +
                     std::to_string(of.rank) + ": " + what);
  }

  void check_end(const planned_operation& one) {
    const operation_report& end = report(one);
    if (end.number < 0) return tell(one, "was never started");
    if (!end.problem.empty()) tell(one, end.problem);
    const auto code = static_cast<errc>(end.code);
    const bool provoked = end.code == 0 || (code == errc::cancelled && end.cancelled) ||
                          (code == errc::timed_out && one.limit >= 0) ||
                          (code == errc::size_mismatch && what_.provokes_mismatches);
    if (!provoked) tell(one, "ended without cause as " + make_error_code(code).message());
  }

  void check_receive(const planned_operation& one) {
    if (!succeeded(one)) return;
    const operation_report& end = report(one);
    const bool tag_fits = one.any_tag || end.tag == one.tag;
    const bool source_fits = one.peer < 0 || end.source == one.peer;
    if (!tag_fits || !source_fits) return tell(one, "got what it had not asked for");
    if (one.units == 0) return;
    const auto number = message_of(one);
    if (!number) return tell(one, "got what nobody has sent");
    const planned_operation& send = what_.operations[static_cast<std::size_t>(*number)];
    if (!what_.satisfies(send, one)) tell(one, "got message " + std::to_string(*number) + ", which is not for it");
    if (end.tag != send.tag || what_.world_rank(one.group, end.source) != send.rank || one.units != send.units)
      tell(one, "has another envelope than message " + std::to_string(*number));
    auto& receiver = receiver_of_[static_cast<std::size_t>(*number)];
    if (receiver)
      tell(one, "got message " + std::to_string(*number) + ", as receive " + std::to_string(*receiver) + " did");
    receiver = one.number;
  }

  // The two ends of a message have the same outcome, but for what was taken with the announcement. Of a failed
  // operation on memory of the engine's only the engine knows.
  void check_send(const planned_operation& one) {
    const bool received = receiver_of_[static_cast<std::size_t>(one.number)].has_value();
    if (received && failed(one) && !report(one).owned) tell(one, "failed, and its message was received");
    if (received || failed(one) || may_be_taken(one) || one.units == 0) return;
    const bool known = std::none_of(what_.operations.begin(), what_.operations.end(), [&](const auto& other) {
      return what_.satisfies(one, other) && failed(other) && report(other).owned;
    });
    if (known) tell(one, "succeeded, and its message was not received");
  }

  /// Non-overtaking: what the sender has sent before `send`, and the receive would have taken, was received by one
  /// that was posted before.
  void check_order(const planned_operation& receive, const planned_operation& send) {
    for (const planned_operation& earlier : what_.operations) {
      if (!earlier.sending || earlier.rank != send.rank || earlier.units == 0 || !succeeded(earlier)) continue;
      if (report(earlier).order >= report(send).order || !what_.satisfies(earlier, receive)) continue;
      const auto by = receiver_of_[static_cast<std::size_t>(earlier.number)];
      const bool in_order = by && reports_[static_cast<std::size_t>(*by)].order < report(receive).order;
      if (!in_order && !may_have_come_back(earlier, receive))
        tell(receive, "message " + std::to_string(send.number) + " has overtaken " + std::to_string(earlier.number));
    }
  }

  /// What was matched with an operation that was withdrawn comes back to its place after others may have passed: a
  /// message to its place before later ones, a receive likewise. A message that met a receive of another size is gone.
  [[nodiscard]] bool may_have_come_back(const planned_operation& send, const planned_operation& receive) const {
    return std::any_of(what_.operations.begin(), what_.operations.end(), [&](const planned_operation& other) {
      if (!failed(other)) return false;
      if (other.sending) return what_.satisfies(other, receive);
      return what_.satisfies(send, other) && report(other).order < report(receive).order;
    });
  }

  void check_leftover(int rank) {
    int sent = 0;
    int received = 0;
    bool certain = !what_.provokes_mismatches;
    for (const planned_operation& one : what_.operations) {
      if (report(one).number < 0) continue;
      const bool concerned = one.sending ? destination_of(one) == rank : one.rank == rank;
      if (!concerned) continue;
      (one.sending ? sent : received) += succeeded(one);
      certain = certain && !(failed(one) && report(one).owned);
    }
    const int left = leftovers_[static_cast<std::size_t>(rank)];
    if (certain && left != sent - received)
      found_.push_back("rank " + std::to_string(rank) + " was left with " + std::to_string(left) + " messages, of " +
                       std::to_string(sent) + " sent to it and " + std::to_string(received) + " received");
  }

  const program& what_;
  std::vector<operation_report> reports_;        ///< by number
  std::vector<std::optional<int>> receiver_of_;  ///< by the number of the send
  std::vector<int> leftovers_;                   ///< by rank
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> contradictions(const program& what, const std::vector<rank_report>& by_rank) {
  return judge(what, by_rank).run();
}

}  // namespace weft::testing
