// SPDX-License-Identifier: Apache-2.0
#include "cuda_model/lifecycle.hpp"

#include "cuda_model/hang.hpp"

#include <algorithm>
#include <utility>

namespace cuda_model {
namespace {

/// Every peer that the group uses for the first time has launched its own.
bool partners_came(const communicator& one) {
  return std::all_of(one.launching.begin(), one.launching.end(), [&](const auto& group) {
    return !has_first_use(one, *group) || std::all_of(group->partners.begin(), group->partners.end(),
                                                      [&](const auto& link) { return link.second != nullptr; });
  });
}

bool connects(const communicator& one) {
  return std::any_of(one.launching.begin(), one.launching.end(),
                     [&](const auto& group) { return has_first_use(one, *group); });
}

/// No kernel of others is on the device.
bool is_drained(const state& world, const communicator& one) {
  const auto kernels = world.kernels_on(one.device);
  return std::all_of(kernels.begin(), kernels.end(),
                     [&](const auto& each) { return each->owner == &one && each->stage == kernel_stage::launching; });
}

bool everyone_left(const communicator& one) {
  return std::all_of(one.group->arrived.begin(), one.group->arrived.end(),
                     [&](int rank) { return one.group->left.contains(rank); });
}

/// Creation goes on when all ranks have come, and ends when the device of each has been without kernels since.
bool is_set_up(const state& world, const communicator& one) {
  clique& group = *one.group;
  if (!group.complete() || !world.settings.set_up_synchronizes) return group.complete();
  for (const auto& [rank, member] : group.members)
    if (is_drained(world, *member)) group.drained.insert(rank);
  return std::cmp_equal(group.drained.size(), group.size);
}

bool can_end(const state& world, const communicator& one) {
  const bool drained = !world.settings.set_up_synchronizes || is_drained(world, one);
  switch (one.doing) {
    case activity::ready:
      return true;
    case activity::initializing:
      return is_set_up(world, one);
    case activity::launching:
      return partners_came(one) && (drained || !connects(one));
    case activity::finalizing:
      return !one.is_busy() && everyone_left(one);
    case activity::revoking:
      return !one.is_busy();
  }
  return false;
}

void put_on_streams(state& world, communicator& one) {
  for (const auto& group : std::exchange(one.launching, {})) {
    group->stage = kernel_stage::queued;
    for (const transfer& each : group->transfers) one.connected.emplace(each.peer, each.sending);
    for (const cudaStream_t handle : group->streams)
      if (stream* where = world.find(handle)) where->items.emplace_back(group);
    one.queue.push_back(group);
  }
}

void end_activity(state& world, communicator& one) {
  if (one.doing == activity::launching) put_on_streams(world, one);
  one.doing = activity::ready;
  world.touch();
}

/// Whether enough ranks can still come, and the devices of those that have can get rid of their kernels.
bool may_be_set_up(const state& world, const communicator& one, outlook& future) {
  const clique& group = *one.group;
  std::size_t able = 0;
  for (std::size_t device = 0; device < world.devices.size(); ++device) {
    const bool is_in = std::any_of(group.devices.begin(), group.devices.end(),
                                   [&](const auto& each) { return std::cmp_equal(each.second, device); });
    if (!is_in && future.can_call(static_cast<int>(device))) ++able;
  }
  const auto missing = static_cast<std::size_t>(group.size) - group.arrived.size();
  return able >= missing && (!world.settings.set_up_synchronizes ||
                             std::all_of(group.devices.begin(), group.devices.end(), [&](const auto& each) {
                               return group.drained.contains(each.first) || future.drains(each.second);
                             }));
}

/// Whether what a blocked or polled communicator waits for can still happen.
bool may_end(const state& world, const communicator& one, outlook& future) {
  switch (one.doing) {
    case activity::initializing:
      return may_be_set_up(world, one, future);
    case activity::launching:
      return std::all_of(one.launching.begin(), one.launching.end(),
                         [&](const auto& group) { return future.launches(*group); });
    case activity::finalizing:
      return std::all_of(one.queue.begin(), one.queue.end(),
                         [&](const auto& group) { return future.finishes(*group); }) &&
             std::all_of(one.group->devices.begin(), one.group->devices.end(), [&](const auto& each) {
               return one.group->left.contains(each.first) || future.can_call(each.second);
             });
    default:
      return true;
  }
}

ncclResult_t end_blocking(call& context, communicator& one) {
  state& world = context.world();
  if (context.lasting_polls()) context.wait_for_release();
  const auto ready = [&world, &one] { return one.failure != ncclSuccess || can_end(world, one); };
  const bool ended = context.wait(one.device, ready,
                                  [&](outlook& future) { return one.group->excused || may_end(world, one, future); });
  if (one.failure != ncclSuccess) return one.failure;
  if (!ended) return ncclSystemError;
  end_activity(world, one);
  return ncclSuccess;
}

}  // namespace

void claim_device(call& context, int device) {
  device_state& own = *context.world().devices[static_cast<std::size_t>(device)];
  const auto here = std::this_thread::get_id();
  if (!own.issuer) own.issuer = here;
  if (own.issuer != here) context.violate(rules::one_thread_per_device, "another thread issues on this device");
}

std::optional<ncclResult_t> refuse_unready(call& context, communicator& one) {
  if (one.failure != ncclSuccess) return one.failure;
  if (one.doing == activity::ready) return std::nullopt;
  return context.refuse(rules::ready_communicator, ncclInvalidArgument, one.name() + " is in progress");
}

ncclResult_t begin(call& context, communicator& one, activity what) {
  one.doing = what;
  context.world().touch();
  if (one.blocking) return end_blocking(context, one);
  one.polls_left = context.lasting_polls().value_or(context.world().settings.in_progress_polls);
  return ncclInProgress;
}

ncclResult_t poll(call& context, communicator& one) {
  if (one.failure != ncclSuccess) return one.failure;
  if (one.doing == activity::ready) return ncclSuccess;
  if (one.polls_left == for_ever) return ncclInProgress;
  if (one.polls_left > 0) {
    --one.polls_left;
    return ncclInProgress;
  }
  if (!can_end(context.world(), one)) return ncclInProgress;
  end_activity(context.world(), one);
  return ncclSuccess;
}

void drop_work(state& world, communicator& one) {
  while (!one.launching.empty()) finish(world, std::shared_ptr<kernel>(one.launching.back()), false);
  while (!one.queue.empty()) finish(world, std::shared_ptr<kernel>(one.queue.back()), false);
}

void erase(state& world, communicator& one) {
  const auto self = world.communicators.find(one.handle);
  if (self == world.communicators.end()) return;  // another thread aborted it
  one.group->members.erase(one.rank);
  one.group->left.insert(one.rank);
  world.freed_communicators.push_back(std::move(self->second));
  world.communicators.erase(self);
  world.touch();
}

}  // namespace cuda_model
