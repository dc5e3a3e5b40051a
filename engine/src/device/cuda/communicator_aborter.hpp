// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nccl.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace weft::detail {

/// Aborts NCCL's communicators one after the other on a thread of its own, because an abort can hang (NVIDIA/nccl#829,
/// #549), and several at once can stick (#1013).
class communicator_aborter {
 public:
  using job = std::uint64_t;

  /// How long an abort may take. Beyond it it counts as over, and the thread is left to itself.
  static constexpr std::chrono::seconds patience{10};

  explicit communicator_aborter(int ordinal) : ordinal_(ordinal) {}
  communicator_aborter(const communicator_aborter&) = delete;
  communicator_aborter& operator=(const communicator_aborter&) = delete;
  /// Waits for what is under way, no longer than `patience`.
  ~communicator_aborter();

  [[nodiscard]] job abort(ncclComm_t communicator);

  /// What comes from now on waits for `go_on`. Called while nothing is under way.
  void hold();
  void go_on();

  struct ended {
    job which = 0;
    bool in_time = true;
  };
  /// Jobs that are over since the last call.
  [[nodiscard]] std::vector<ended> take_ended();

 private:
  using clock = std::chrono::steady_clock;
  struct request {
    job which;
    ncclComm_t communicator;
  };
  /// What the thread and this object share, and the thread alone has if an abort never returns.
  struct shared_state {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<request> waiting;
    std::vector<ended> over;
    clock::time_point began{};  ///< the job under way
    job under_way = 0;
    bool is_held = false;
    bool stops = false;
    bool has_stopped = false;
  };

  static void work(const std::shared_ptr<shared_state>& state, int ordinal);

  int ordinal_;
  job last_ = 0;
  std::shared_ptr<shared_state> state_ = std::make_shared<shared_state>();
  std::thread thread_;
};

}  // namespace weft::detail
