// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <thread>
#include <utility>

namespace weft::detail {

/// How a thread waits for something that it has to look for: it looks again at once, then lets others run in between,
/// then sleeps in between. Spinning for longer costs whole cores (vllm #51950); an event is polled in about half a
/// microsecond (parsec #576), and a small transfer takes some ten of them.
class polling_pause {
 public:
  static constexpr std::chrono::microseconds spins_for{20};
  static constexpr std::chrono::microseconds yields_for{200};
  static constexpr std::chrono::microseconds sleeps_for{50};

  /// Something has happened.
  void reset() noexcept { waits_ = false; }

  /// Waits for a moment, or says for how long to sleep.
  [[nodiscard]] std::optional<std::chrono::microseconds> next() {
    const auto now = clock::now();
    if (!std::exchange(waits_, true)) began_ = now;
    if (now - began_ < spins_for) return std::nullopt;
    if (now - began_ >= spins_for + yields_for) return sleeps_for;
    std::this_thread::yield();
    return std::nullopt;
  }

 private:
  using clock = std::chrono::steady_clock;
  bool waits_ = false;
  clock::time_point began_{};
};

}  // namespace weft::detail
