// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulated_rank.hpp"

#include <optional>
#include <random>

namespace weft::testing {

// The names that tests of an endpoint are made of.
using weft::any_source;
using weft::any_tag;
using weft::errc;
using weft::from;
using weft::route;
using weft::to;

inline constexpr std::size_t eager_limit = 16;

/// Bounds small enough for a test to reach.
inline constexpr protocol::endpoint_limits small_limits{
    .eager_limit = eager_limit, .max_unmatched = 1000, .max_object_bytes = 64, .inline_credit = 64};

inline constexpr payload_shape of_elements(element_type type) {
  return {.element = type};
}
inline constexpr payload_shape of_objects(std::uint64_t fingerprint) {
  return {.kind = payload_kind::objects, .fingerprint = fingerprint};
}
inline constexpr payload_shape on_device{.memory = memory_kind::device};

/// A group of ranks in one thread. Their packets keep their order per pair of ranks; which pair, stream or log entry
/// goes next is a fixed order without a seed, and random with one.
class simulated_group {
 public:
  explicit simulated_group(int ranks, const protocol::endpoint_limits& limits = small_limits,
                           std::optional<std::uint32_t> seed = std::nullopt)
      : gone_(static_cast<std::size_t>(ranks)) {
    for (int rank = 0; rank < ranks; ++rank) ranks_.emplace_back(rank, ranks, limits);
    if (seed) random_.emplace(*seed);
  }

  [[nodiscard]] simulated_rank& operator[](int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] int size() const { return static_cast<int>(ranks_.size()); }
  [[nodiscard]] bool is_gone(int rank) const { return gone_[static_cast<std::size_t>(rank)]; }

  /// Does one thing that can happen. False: nothing can.
  bool step() {
    steps_.clear();
    for (int rank = 0; rank < size(); ++rank) add_steps_of(rank);
    if (!log_.empty()) steps_.push_back({what::launch, 0, 0});
    if (!launched_.empty()) steps_.push_back({what::finish, 0, 0});
    if (steps_.empty()) return false;
    take(steps_[random_ ? (*random_)() % steps_.size() : 0]);
    return true;
  }
  /// Users receive what is held for them, when it is their turn.
  void decide(int rank) {
    const protocol::operation_id id = (*this)[rank].held.front();
    (*this)[rank].held.pop_front();
    CHECK((*this)[rank].resume(id, of_objects(0)));
  }
  /// From now on tests decide.
  void leave_decisions() { decides_ = false; }
  /// Goes on until nothing is left to happen.
  void settle() {
    while (step()) {}
  }

  /// The next packet from one rank to another arrives.
  void deliver(int from, int to) {
    auto& queue = (*this)[from].out[static_cast<std::size_t>(to)];
    REQUIRE(!queue.empty());
    const packet next = std::move(queue.front());
    queue.pop_front();
    if (next.type == protocol::message_type::goodbye) (*this)[from].out[static_cast<std::size_t>(to)].clear();
    CHECK_MESSAGE((*this)[to].deliver(from, next), "a rank broke the protocol");
  }
  /// The sequencer hears of the oldest match that a rank has found, or wants back: which it can have until the entry
  /// is begun.
  void sequence(int rank) {
    const sequencer_report next = (*this)[rank].reports.front();
    (*this)[rank].reports.pop_front();
    if (!next.withdraws) return log_.push_back(next.what);
    const bool granted = std::erase_if(log_, [&](const protocol::match& one) {
                           return one.destination == rank && one.receive == next.what.receive;
                         }) != 0;
    if (granted) ++undone_;
    (*this)[rank].match_withdrawal(next.what.receive, granted);
  }
  /// Matches that were taken back.
  [[nodiscard]] int undone() const { return undone_; }
  /// The oldest entry of the log is begun at both ends, or refused at one where the other has taken it back.
  void launch() {
    const protocol::match entry = log_.front();
    log_.pop_front();
    const bool sending = !is_gone(entry.source) && (*this)[entry.source].take_published(entry.send);
    const bool receiving = !is_gone(entry.destination) && (*this)[entry.destination].take_published(entry.receive);
    if (sending && receiving) return launched_.push_back(entry);
    if (sending) (*this)[entry.source].transferred(entry.send, errc::transfer_aborted);
    if (receiving) (*this)[entry.destination].transferred(entry.receive, errc::transfer_aborted);
  }
  /// The oldest transfer that was begun ends.
  void finish() {
    const protocol::match entry = launched_.front();
    launched_.pop_front();
    simulated_rank& source = (*this)[entry.source];
    simulated_rank& destination = (*this)[entry.destination];
    if (is_gone(entry.source)) return destination.transferred(entry.receive, errc::transfer_aborted);
    if (is_gone(entry.destination)) return source.transferred(entry.send, errc::transfer_aborted);
    destination.add_content(entry.receive, source.published_part(entry.send, entry.bytes));
    source.transferred(entry.send, {});
    destination.transferred(entry.receive, {});
  }

  /// A rank dies: what is on its way from and to it is lost, and all others notice.
  void lose(int rank) {
    gone_[static_cast<std::size_t>(rank)] = true;
    (*this)[rank].streams.clear();
    (*this)[rank].reports.clear();
    for (auto& queue : (*this)[rank].out) queue.clear();
    for (int other = 0; other < size(); ++other)
      if (other != rank) (*this)[other].lose(rank);
  }
  /// A rank closes and says goodbye behind everything it has sent.
  void leave(int rank) {
    (*this)[rank].close();
    for (int other = 0; other < size(); ++other)
      if (other != rank)
        (*this)[rank].out[static_cast<std::size_t>(other)].push_back({protocol::message_type::goodbye, {}, {}});
  }

 private:
  enum class what { deliver, pump, sequence, decide, launch, finish };
  struct possible_step {
    what kind;
    int from;
    int to;
  };

  void add_steps_of(int rank) {
    if (is_gone(rank)) return;
    for (int to = 0; to < size(); ++to)
      if (!is_gone(to) && !(*this)[rank].out[static_cast<std::size_t>(to)].empty())
        steps_.push_back({what::deliver, rank, to});
    if (!(*this)[rank].streams.empty()) steps_.push_back({what::pump, rank, 0});
    if (!(*this)[rank].reports.empty()) steps_.push_back({what::sequence, rank, 0});
    if (decides_ && !(*this)[rank].held.empty()) steps_.push_back({what::decide, rank, 0});
  }

  void take(const possible_step& next) {
    constexpr std::size_t piece = 10;  // larger messages take several
    switch (next.kind) {
      case what::deliver:
        return deliver(next.from, next.to);
      case what::pump:
        return (*this)[next.from].pump_stream(piece);
      case what::sequence:
        return sequence(next.from);
      case what::decide:
        return decide(next.from);
      case what::launch:
        return launch();
      case what::finish:
        return finish();
    }
  }

  std::deque<simulated_rank> ranks_;
  std::vector<bool> gone_;
  std::deque<protocol::match> log_;
  std::deque<protocol::match> launched_;
  bool decides_ = true;
  int undone_ = 0;
  std::vector<possible_step> steps_;
  std::optional<std::mt19937> random_;
};

}  // namespace weft::testing
