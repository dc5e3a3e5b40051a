// SPDX-License-Identifier: Apache-2.0
#include "protocol/launch_gate.hpp"
#include "protocol/sequencer.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace {

using namespace weft::protocol;

struct scenario {
  int ranks = 4;
  int transfers = 60;
  std::size_t resident = 1;  ///< communicators that the device has room for
  bool loses_rank = false;
  bool withdraws = false;
  bool in_order = true;  ///< launch threads follow the log; else each takes any communicator's next entry
};

struct planned {
  communicator_kind kind;
  transfer what;
  bool withdrawn = false;
};

/// Ranks that carry out a log as a device would: a launch thread each, blocked by set-ups until the other end is there
/// and the device quiet; one queue of groups per communicator; groups that end once all their ranks have launched them.
/// What happens next is drawn by chance, so that every delay of links, threads and kernels is met.
class toy_machine {
 public:
  toy_machine(const scenario& how, std::uint32_t seed)
      : how_(how),
        random_(seed),
        sequencer_(how.ranks),
        ranks_(static_cast<std::size_t>(how.ranks), rank_state(how.resident)) {
    for (int i = 1; i <= how.transfers; ++i) plan_.push_back(random_transfer(static_cast<std::uint64_t>(i)));
  }

  /// Runs until nothing can happen any more.
  void run() {
    for (std::vector<std::function<void()>> possible; !(possible = events()).empty();) {
      possible[below(possible.size())]();
      check_limits();
    }
  }

  [[nodiscard]] bool is_done() const {
    return sequencer_.idle() && std::all_of(ranks_.begin(), ranks_.end(), [](const rank_state& one) {
             return one.gone || (one.log.empty() && one.ended.empty() && one.resident() == 0);
           });
  }

  /// Whether every rank that is there has carried out its transfers, once and in order.
  void check_outcome() const {
    for (int rank = 0; rank < how_.ranks; ++rank) {
      if (at(rank).gone) continue;
      std::map<std::tuple<communicator_kind, int, int>, std::vector<std::uint64_t>> expected;
      for (const planned& one : plan_)
        if (!one.withdrawn && (one.what.source == rank || one.what.destination == rank))
          expected[{one.kind, one.what.source, one.what.destination}].push_back(one.what.send);
      REQUIRE(at(rank).carried_out == expected);
    }
  }

 private:
  struct rank_state {
    explicit rank_state(std::size_t resident) : gate(resident) {}
    [[nodiscard]] std::size_t resident() const {
      return static_cast<std::size_t>(
          std::count_if(launched.begin(), launched.end(), [](const auto& queue) { return !queue.second.empty(); }));
    }
    bool gone = false;
    std::deque<log_entry> log;
    std::uint64_t setting_up = 0;  ///< the entry that blocks the launch thread, or 0
    launch_gate gate;
    std::map<communicator_id, std::deque<std::uint64_t>> launched;
    std::deque<log_entry> ended;  ///< and not reported
    std::map<std::uint64_t, log_entry> in_flight;
    std::map<std::tuple<communicator_kind, int, int>, std::vector<std::uint64_t>> carried_out;
  };

  rank_state& at(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] const rank_state& at(int rank) const { return ranks_[static_cast<std::size_t>(rank)]; }
  std::size_t below(std::size_t limit) { return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random_); }
  int random_rank() { return static_cast<int>(below(static_cast<std::size_t>(how_.ranks))); }

  planned random_transfer(std::uint64_t id) {
    const auto kind = below(3) == 0 ? communicator_kind::group : communicator_kind::pair;
    transfer what{.source = random_rank(), .destination = random_rank(), .send = id, .receive = id, .bytes = id};
    if (kind == communicator_kind::pair && what.source == what.destination)
      what.destination = (what.source + 1) % how_.ranks;
    return {kind, what};
  }

  std::vector<std::function<void()>> events() {
    std::vector<std::function<void()>> possible;
    if (matched_ < plan_.size()) possible.emplace_back([this] { match(); });
    if (how_.withdraws && matched_ > 0 && matched_ < plan_.size()) possible.emplace_back([this] { withdraw(); });
    if (how_.loses_rank && !lost_ && matched_ > plan_.size() / 2) possible.emplace_back([this] { lose(); });
    for (int rank = 0; rank < how_.ranks; ++rank) {
      if (at(rank).gone) continue;
      if (const std::size_t next = next_entry(rank); next < at(rank).log.size())
        possible.emplace_back([this, rank, next] { launch(rank, next); });
      if (!at(rank).ended.empty()) possible.emplace_back([this, rank] { report(rank); });
    }
    for (const auto& [entry, receivers] : receivers_)
      if (can_end(entry, receivers)) possible.emplace_back([this, ending = entry] { end(ending); });
    return possible;
  }

  // ---- what can happen

  void match() {
    sequencer_.matched(plan_[matched_].kind, plan_[matched_].what, outbox_);
    ++matched_;
    deliver();
  }

  void withdraw() {
    planned& one = plan_[below(matched_)];
    if (sequencer_.withdraw(one.kind, one.what)) one.withdrawn = true;
  }

  void lose() {
    const int rank = random_rank();
    lost_ = true;
    at(rank).gone = true;
    for (auto& [entry, receivers] : receivers_) receivers.erase(rank);
    sequencer_.rank_gone(rank, outbox_);
    deliver();
  }

  void deliver() {
    for (auto& [rank, entry] : outbox_) {
      REQUIRE_FALSE(at(rank).gone);
      receivers_[entry.number].insert(rank);
      at(rank).log.push_back(std::move(entry));
    }
    outbox_.clear();
  }

  /// Where in its log the entry stands that a rank's launch thread can carry out now; past the end if there is none.
  std::size_t next_entry(int rank) {
    const rank_state& state = at(rank);
    std::vector<std::size_t> candidates;
    std::set<communicator_id> passed;
    for (std::size_t i = 0; state.setting_up == 0 && i < state.log.size(); ++i) {
      const log_entry& entry = state.log[i];
      if (!passed.insert(entry.communicator).second) continue;
      if (!std::holds_alternative<batch>(entry.content) || state.gate.may_issue(entry.communicator))
        candidates.push_back(i);
      if (how_.in_order) break;
    }
    return candidates.empty() ? state.log.size() : candidates[below(candidates.size())];
  }

  void launch(int rank, std::size_t next) {
    rank_state& state = at(rank);
    log_entry entry = std::move(state.log[next]);
    state.log.erase(state.log.begin() + static_cast<std::ptrdiff_t>(next));
    if (std::holds_alternative<batch>(entry.content)) {
      state.gate.issued(entry.communicator);
      state.launched[entry.communicator].push_back(entry.number);
    } else {
      state.setting_up = entry.number;
    }
    state.in_flight.emplace(entry.number, std::move(entry));
  }

  bool can_end(std::uint64_t entry, const std::set<int>& receivers) {
    return std::all_of(receivers.begin(), receivers.end(), [&](int rank) {
      const rank_state& state = at(rank);
      const auto found = state.in_flight.find(entry);
      if (found == state.in_flight.end()) return false;
      if (state.setting_up == entry) return state.resident() == 0;
      return state.launched.at(found->second.communicator).front() == entry;
    });
  }

  void end(std::uint64_t entry) {
    for (const int rank : receivers_[entry]) {
      rank_state& state = at(rank);
      log_entry ended = std::move(state.in_flight.extract(entry).mapped());
      if (state.setting_up == entry) {
        state.setting_up = 0;
        if (std::holds_alternative<evict>(ended.content)) REQUIRE(sequencer_.finished(rank, entry, outbox_));
      } else {
        state.launched[ended.communicator].pop_front();
        carry_out(state, ended);
        state.ended.push_back(std::move(ended));
      }
    }
    receivers_.erase(entry);
    deliver();
  }

  void carry_out(rank_state& state, const log_entry& group) {
    const auto kind = group.communicator == group_communicator ? communicator_kind::group : communicator_kind::pair;
    for (const transfer& one : std::get<batch>(group.content).transfers)
      state.carried_out[{kind, one.source, one.destination}].push_back(one.send);
  }

  void report(int rank) {
    const log_entry ended = std::move(at(rank).ended.front());
    at(rank).ended.pop_front();
    at(rank).gate.finished(ended.communicator);
    REQUIRE(sequencer_.finished(rank, ended.number, outbox_));
    deliver();
  }

  void check_limits() {
    for (const rank_state& one : ranks_) REQUIRE(one.resident() <= how_.resident);
    for (communicator_id id = 0; !sequencer_.members(id).empty(); ++id)
      REQUIRE(sequencer_.unfinished_batches(id) <= max_unfinished_batches);
  }

  scenario how_;
  std::mt19937 random_;
  sequencer sequencer_;
  outbox outbox_;
  std::vector<rank_state> ranks_;
  std::vector<planned> plan_;
  std::size_t matched_ = 0;
  bool lost_ = false;
  std::map<std::uint64_t, std::set<int>> receivers_;  ///< of each entry that has not ended
};

void check_many(scenario how, std::uint32_t runs) {
  const std::uint32_t base = std::random_device{}();
  for (std::uint32_t i = 0; i < runs; ++i) {
    const std::uint32_t seed = base + i;
    how.resident = 1 + i % 3;
    how.ranks = 2 + static_cast<int>(i % 7);
    CAPTURE(seed);
    CAPTURE(how.resident);
    CAPTURE(how.ranks);
    toy_machine machine(how, seed);
    machine.run();
    REQUIRE(machine.is_done());
    machine.check_outcome();
  }
}

TEST_CASE("whoever follows the log gets through it, with room for one to three communicators") {
  check_many({}, 300);
}

TEST_CASE("withdrawn transfers are not carried out, and all others are") {
  check_many({.withdraws = true}, 150);
}

TEST_CASE("when a rank is lost the others get through their log") {
  check_many({.loses_rank = true, .withdraws = true}, 150);
}

TEST_CASE("launch threads that do not keep to the order of the log lock each other out") {
  // Shows that the machine above can deadlock at all.
  int stuck = 0;
  for (std::uint32_t seed = 1; seed <= 30; ++seed) {
    toy_machine machine({.ranks = 6, .in_order = false}, seed);
    machine.run();
    if (!machine.is_done()) ++stuck;
  }
  CHECK(stuck > 0);
}

}  // namespace
