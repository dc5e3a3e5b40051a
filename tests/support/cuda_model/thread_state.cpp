// SPDX-License-Identifier: Apache-2.0
#include "cuda_model/thread_state.hpp"

#include "cuda_model/state.hpp"

namespace cuda_model {

thread_state::~thread_state() {
  if (group_depth == 0) return;
  const auto world_now = current_state();
  if (world_now == nullptr || world_now->generation != world) return;
  const std::lock_guard lock(world_now->mutex);
  world_now->violate(rules::closed_groups, device, "a thread ended within a group");
}

thread_state& this_thread(std::uint64_t world) {
  thread_local thread_state own;
  if (own.world != world) {
    own.world = world;
    own.device = no_device;
    own.last_error = cudaSuccess;
    own.group_depth = 0;
    own.group_error = ncclSuccess;
    own.operations.clear();
  }
  return own;
}

}  // namespace cuda_model
