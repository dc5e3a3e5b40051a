// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda_model/kernel.hpp"

#include <nccl.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace cuda_model {

struct communicator;

/// All ranks of a communicator: what they need of each other.
struct clique {
  std::uint64_t number = 0;
  int size = 0;                          ///< 0 until the first rank came
  std::map<int, communicator*> members;  ///< those that came and have not gone
  std::set<int> arrived;                 ///< those that ever came
  std::set<int> left;                    ///< those that finalized, aborted or were destroyed
  std::map<int, int> devices;            ///< of those that came
  std::set<int> drained;                 ///< those whose devices were without kernels after all had come
  /// Something broke it on purpose: who waits for it is to abort, so that such waits prove no hang.
  bool excused = false;
  /// Kernels of `first` that `second` has not mirrored yet.
  std::map<std::pair<int, int>, std::deque<std::shared_ptr<kernel>>> unmatched;

  [[nodiscard]] bool complete() const noexcept { return size > 0 && std::cmp_equal(arrived.size(), size); }
};

/// What a communicator is doing. Only `ready` ones may be used.
enum class activity { ready, initializing, launching, finalizing, revoking };

/// One rank's communicator.
struct communicator {
  std::uint64_t handle = 0;
  std::shared_ptr<clique> group;
  int rank = 0;
  int device = 0;
  bool blocking = true;
  activity doing = activity::initializing;
  int polls_left = 0;
  ncclResult_t failure = ncclSuccess;  ///< asynchronous; stays
  bool finalized = false;
  bool revoked = false;
  std::vector<std::shared_ptr<kernel>> launching;  ///< a group that has not reached its streams
  std::deque<std::shared_ptr<kernel>> queue;       ///< every group that has and is unfinished: one after the other
  std::set<std::pair<int, bool>> connected;        ///< (peer, sending)

  [[nodiscard]] bool is_busy() const noexcept { return !queue.empty() || !launching.empty(); }
  [[nodiscard]] std::string name() const { return "communicator " + std::to_string(group->number); }
};

}  // namespace cuda_model
