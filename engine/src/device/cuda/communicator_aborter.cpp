// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/communicator_aborter.hpp"

#include <cuda_runtime_api.h>

#include <utility>

namespace weft::detail {

communicator_aborter::~communicator_aborter() {
  if (!thread_.joinable()) return;
  std::unique_lock lock(state_->mutex);
  state_->stops = true;
  state_->changed.notify_all();
  const bool stopped = state_->changed.wait_for(lock, patience, [this] { return state_->has_stopped; });
  lock.unlock();
  stopped ? thread_.join() : thread_.detach();
}

communicator_aborter::job communicator_aborter::abort(ncclComm_t communicator) {
  if (!thread_.joinable()) thread_ = std::thread(work, state_, ordinal_);
  const std::lock_guard lock(state_->mutex);
  state_->waiting.push_back({++last_, communicator});
  state_->changed.notify_all();
  return last_;
}

void communicator_aborter::hold() {
  const std::lock_guard lock(state_->mutex);
  state_->is_held = true;
}

void communicator_aborter::go_on() {
  const std::lock_guard lock(state_->mutex);
  state_->is_held = false;
  state_->changed.notify_all();
}

std::vector<communicator_aborter::ended> communicator_aborter::take_ended() {
  const std::lock_guard lock(state_->mutex);
  // One that does not return keeps all behind it waiting: they are given up with it.
  if (state_->under_way != 0 && clock::now() - state_->began > patience) {
    state_->over.push_back({std::exchange(state_->under_way, 0), false});
    for (const request& one : std::exchange(state_->waiting, {})) state_->over.push_back({one.which, false});
  }
  return std::exchange(state_->over, {});
}

void communicator_aborter::work(const std::shared_ptr<shared_state>& state, int ordinal) {
  (void)cudaSetDevice(ordinal);
  std::unique_lock lock(state->mutex);
  for (;;) {
    state->changed.wait(lock, [&] { return state->stops || (!state->is_held && !state->waiting.empty()); });
    if (state->waiting.empty()) break;
    const request next = state->waiting.front();
    state->waiting.pop_front();
    state->under_way = next.which;
    state->began = clock::now();
    lock.unlock();
    (void)ncclCommAbort(next.communicator);
    lock.lock();
    if (std::exchange(state->under_way, 0) == next.which) state->over.push_back({next.which, true});
  }
  state->has_stopped = true;
  state->changed.notify_all();
}

}  // namespace weft::detail
