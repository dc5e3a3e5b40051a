// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace weft::simulation {

/// Virtual time, in ticks: things happen in the order of their time, and those of one tick in the order in which they
/// were planned. All chance in a run comes from here, so that a seed repeats it.
class schedule {
 public:
  using ticks = std::uint64_t;
  using event = std::function<void()>;

  explicit schedule(std::uint32_t seed) : random_(seed) {}

  [[nodiscard]] ticks now() const noexcept { return now_; }
  [[nodiscard]] std::size_t below(std::size_t limit) { return static_cast<std::size_t>(random_() % limit); }

  /// Mostly short, at times long: so that whatever can overtake something else does.
  [[nodiscard]] ticks some_delay() {
    const std::size_t kind = below(16);
    if (kind == 0) return below(400);
    return kind < 6 ? below(40) : below(6);
  }

  void at(ticks when, event what) { events_.push({when, planned_++, std::move(what)}); }
  void after(ticks delay, event what) { at(now_ + delay, std::move(what)); }
  void after_some_delay(event what) { after(some_delay(), std::move(what)); }

  /// Lets the next thing happen. False: nothing is planned.
  bool step() {
    if (events_.empty()) return false;
    // A priority queue shows its top as a constant; it is about to be removed.
    planned_event next = std::move(const_cast<planned_event&>(events_.top()));
    events_.pop();
    now_ = next.when;
    next.what();
    return true;
  }

 private:
  struct planned_event {
    ticks when;
    std::uint64_t order;
    event what;
    friend bool operator<(const planned_event& a, const planned_event& b) {
      return std::pair(a.when, a.order) > std::pair(b.when, b.order);
    }
  };

  std::mt19937 random_;
  std::priority_queue<planned_event> events_;
  std::uint64_t planned_ = 0;
  ticks now_ = 0;
};

/// Delivers in order, each with a delay of its own.
class fifo_link {
 public:
  explicit fifo_link(schedule& time) : time_(&time) {}

  void send(schedule::event arrival) {
    last_ = std::max(last_, time_->now() + time_->some_delay());
    time_->at(last_, std::move(arrival));
  }

 private:
  schedule* time_;
  schedule::ticks last_ = 0;
};

}  // namespace weft::simulation
