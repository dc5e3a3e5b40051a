// SPDX-License-Identifier: Apache-2.0
// The devices at work: one thread that lets streams and kernels advance, one step at a time.
#include "cuda_model/hang.hpp"
#include "cuda_model/state.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace cuda_model {
namespace {

bool is_at_rest(const state& world, int device) {
  const device_state& own = *world.devices[static_cast<std::size_t>(device)];
  return own.held || own.lost || own.broken != cudaSuccess;
}

/// A copy may not touch what a running kernel receives into, nor write what it sends.
void check_untouched(state& world, int device, const void* at, std::size_t bytes, bool writing) {
  for (const auto& one : world.kernels_on(device)) {
    if (one->stage != kernel_stage::resident) continue;
    for (const transfer& each : one->transfers) {
      if ((writing || !each.sending) && overlaps(at, bytes, each.memory, each.bytes))
        world.violate(rules::untouched_memory, device, "a copy touches memory of " + describe(*one));
    }
  }
}

void carry_out(state& world, int device, const copy_work& work) {
  check_untouched(world, device, work.from, work.bytes, false);
  check_untouched(world, device, work.to, work.bytes, true);
  const std::byte* from = world.locate(work.from, work.bytes).view;
  std::byte* to = world.locate(work.to, work.bytes).view;
  if (from == nullptr || to == nullptr) {
    world.violate(rules::kept_memory, device, "memory was freed before the copy that uses it");
    return;
  }
  std::memmove(to, from, work.bytes);
}

void carry_out(state& world, int device, const fill_work& work) {
  check_untouched(world, device, work.to, work.bytes, true);
  std::byte* to = world.locate(work.to, work.bytes).view;
  if (to == nullptr) return world.violate(rules::kept_memory, device, "memory was freed before it was filled");
  std::memset(to, work.value, work.bytes);
}

void run_function(state& world, std::unique_lock<std::mutex>& lock, const host_function& function) {
  lock.unlock();
  thread_state& self = this_thread(world.generation);
  self.in_host_function = true;
  function.call(function.data);
  self.in_host_function = false;
  lock.lock();
}

bool is_first_everywhere(state& world, const std::shared_ptr<kernel>& one) {
  if (one->owner->queue.front() != one) return false;
  return std::all_of(one->streams.begin(), one->streams.end(), [&](cudaStream_t handle) {
    const stream& where = *world.find(handle);
    const auto* work = where.items.empty() ? nullptr : std::get_if<kernel_work>(&where.items.front());
    return work != nullptr && *work == one;
  });
}

bool has_room(const state& world, int device) {
  const auto kernels = world.kernels_on(device);
  return std::count_if(kernels.begin(), kernels.end(), [](const auto& one) {
           return one->stage == kernel_stage::resident;
         }) < world.settings.resident_kernels;
}

bool start_kernel(state& world, const std::shared_ptr<kernel>& one) {
  const bool can_start = one->stage == kernel_stage::queued && one->owner->failure == ncclSuccess &&
                         is_first_everywhere(world, one) && has_room(world, one->device);
  if (!can_start) return false;
  one->stage = kernel_stage::resident;
  guard_all(world, *one);
  world.touch();
  return true;
}

bool advance_kernel(state& world, const std::shared_ptr<kernel>& one) {
  if (start_kernel(world, one)) return true;
  if (one->stage != kernel_stage::resident || one->owner->failure != ncclSuccess) return false;
  bool complete = true;
  for (const auto& [peer, partner] : std::map(one->partners)) {
    if (one->exchanged[peer]) continue;
    const bool meets = partner != nullptr && partner->stage == kernel_stage::resident &&
                       !is_at_rest(world, partner->device) && partner->owner->failure == ncclSuccess;
    if (meets) exchange(world, *one, *partner);
    complete = complete && meets;
  }
  if (complete) finish(world, one, true);
  return complete;
}

/// The item at the front, unless it is a kernel. True if it is done.
bool advance_stream(state& world, std::unique_lock<std::mutex>& lock, std::uint64_t handle, stream& where) {
  if (where.items.empty() || std::holds_alternative<kernel_work>(where.items.front())) return false;
  if (const auto* wait = std::get_if<event_wait>(&where.items.front()); wait != nullptr && !wait->record->done)
    return false;
  const stream_item item = where.items.front();
  const int device = where.device;
  if (const auto* function = std::get_if<host_function>(&item)) run_function(world, lock, *function);
  if (const auto* work = std::get_if<copy_work>(&item)) carry_out(world, device, *work);
  if (const auto* work = std::get_if<fill_work>(&item)) carry_out(world, device, *work);
  if (const auto* mark = std::get_if<event_mark>(&item)) mark->record->done = true;
  // The stream may have been destroyed while a host function ran.
  if (stream* still = world.find(handle_of<cudaStream_t>(handle))) still->items.pop_front();
  world.touch();
  return true;
}

}  // namespace

bool state::advance(std::unique_lock<std::mutex>& lock) {
  for (const auto& [handle, where] : streams)
    if (!is_at_rest(*this, where->device) && advance_stream(*this, lock, handle, *where)) return true;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const int device = static_cast<int>(i);
    if (is_at_rest(*this, device)) continue;
    for (const auto& one : kernels_on(device))
      if (advance_kernel(*this, one)) return true;
  }
  return false;
}

void state::look_for_hang() {
  const bool something_waits =
      std::any_of(blocked.begin(), blocked.end(), [](const auto& call) { return !call.scripted; }) ||
      std::any_of(communicators.begin(), communicators.end(), [&](const auto& entry) {
        const communicator& one = *entry.second;
        return one.is_busy() && !devices[static_cast<std::size_t>(one.device)]->held;
      });
  if (hung || !something_waits) return;
  if (!failure_expected && version != version_without_hang) {
    if (const auto stuck = outlook(*this).stuck()) return give_up(*stuck);
    version_without_hang = version;
  }
  if (std::chrono::steady_clock::now() - last_change < settings.hang_limit) return;
  give_up("nothing has moved for " + std::to_string(settings.hang_limit.count()) + " ms" +
          (blocked.empty() ? ""
                           : "; rank " + std::to_string(blocked.front().device) + " waits in " + blocked.front().what));
}

void state::work() {
  std::unique_lock lock(mutex);
  while (!closing) {
    if (advance(lock)) continue;
    look_for_hang();
    // Woken by each change; the time only bounds how late a hang is noticed that cannot be proved.
    if (!closing) changed.wait_for(lock, settings.hang_limit / 4);
  }
}

}  // namespace cuda_model
