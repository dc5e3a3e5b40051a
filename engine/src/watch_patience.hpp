// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>

namespace weft::detail {

/// How long links are watched for news before they go to sleep: for as long as the option says where that pays, and not
/// at all where it does not. It has paid where there was news before a waking would have brought it; it would have
/// where a sleep was as short. (News that comes later may have come only because the scheduler took this processor
/// away, and gave it to the other end.)
///
/// An end that sleeps answers late, by the time that it takes to wake it, which on a machine whose processors halt is
/// longer than any good spin. Two ends that sleep would find each other asleep for ever: so who has woken the other
/// waits for that, too.
class watch_patience {
 public:
  using duration = std::chrono::nanoseconds;

  explicit watch_patience(duration spin) noexcept : spin_(spin), watch_for_(spin) {}

  /// Whether links are watched at present.
  [[nodiscard]] bool watches() const noexcept { return watch_for_ >= shortest; }

  /// For how long without news. `woke_other`: an answer takes a waking.
  [[nodiscard]] duration limit(bool woke_other) const noexcept {
    return woke_other && watch_for_ == spin_ ? watch_for_ + waking : watch_for_;
  }

  /// There is news, after a sleep of all links. `woke_other`: before it.
  void on_sleep(duration slept, bool woke_other) noexcept {
    if (slept >= (woke_other ? spin_ + 2 * waking : spin_) || ++short_sleeps_ < doubt_) return;
    short_sleeps_ = 0;
    watch_for_ = spin_;
  }

  /// There was news while links were watched, after a silence.
  void on_news(duration silence) noexcept {
    if (silence > waking) return on_silence();
    watch_for_ = spin_;
    doubt_ = std::max(1, doubt_ - 1);
  }

  /// There was none within the limit.
  void on_silence() noexcept {
    watch_for_ /= 2;
    if (!watches()) doubt_ = std::min(2 * doubt_, most_doubt);
  }

 private:
  // A shorter watch is none: it takes as long to go to sleep.
  static constexpr duration shortest = std::chrono::microseconds(1);
  // Measured: 10 to 60 us in virtual machines.
  static constexpr duration waking = std::chrono::microseconds(100);
  static constexpr int most_doubt = 64;

  duration spin_;
  duration watch_for_;
  int short_sleeps_ = 0;  ///< one after the other, without a watch
  int doubt_ = 1;         ///< so many of them are needed for another try
};

}  // namespace weft::detail
