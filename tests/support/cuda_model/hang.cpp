// SPDX-License-Identifier: Apache-2.0
#include "cuda_model/hang.hpp"

#include "cuda_model/state.hpp"

#include <algorithm>

namespace cuda_model {

bool has_first_use(const communicator& one, const kernel& group) {
  return std::any_of(group.transfers.begin(), group.transfers.end(), [&](const transfer& each) {
    return each.peer != one.rank && !one.connected.contains({each.peer, each.sending});
  });
}

outlook::outlook(state& world) : world_(world) {
  while (grow()) {}
}

bool outlook::passes(const event_record& one) const {
  return one.done || passing_.contains(&one);
}

bool outlook::drains(const stream& one) const {
  const auto found = passed_.find(&one);
  return one.items.empty() || (found != passed_.end() && found->second == one.items.size());
}

bool outlook::drains(int device) const {
  const auto kernels = world_.kernels_on(device);
  return std::all_of(kernels.begin(), kernels.end(), [&](const auto& one) { return finishes(*one); });
}

bool outlook::can_call(int device) const {
  const device_state& own = *world_.devices[static_cast<std::size_t>(device)];
  if (own.lost) return true;
  if (own.ended) return false;
  return std::all_of(world_.blocked.begin(), world_.blocked.end(),
                     [&](const blocked_call& call) { return call.thread != own.issuer || ending_.contains(&call); });
}

bool outlook::launches(const kernel& one) const {
  const communicator& owner = *one.owner;
  if (!has_first_use(owner, one)) return true;
  const auto others = world_.kernels_on(one.device);
  const bool drained = std::all_of(others.begin(), others.end(), [&](const auto& other) {
    return other->owner == &owner && other->stage == kernel_stage::launching ? true : finishes(*other);
  });
  return meets_partners(one) && (drained || !world_.settings.set_up_synchronizes);
}

// Each partner has launched its group, or can still do that.
bool outlook::meets_partners(const kernel& one) const {
  return std::all_of(one.partners.begin(), one.partners.end(), [&](const auto& link) {
    const auto& [peer, partner] = link;
    if (partner != nullptr) return true;
    const auto where = one.owner->group->devices.find(peer);
    return where == one.owner->group->devices.end() || can_call(where->second);
  });
}

bool outlook::has_room(const kernel& one) const {
  const auto others = world_.kernels_on(one.device);
  const auto stuck = std::count_if(others.begin(), others.end(), [&](const auto& other) {
    return other.get() != &one && other->stage == kernel_stage::resident && !finishes(*other);
  });
  return stuck < world_.settings.resident_kernels;
}

bool outlook::starts(const kernel& one) const {
  if (one.stage == kernel_stage::resident) return true;
  if (one.stage == kernel_stage::launching) {
    const bool others_wait = !one.owner->blocking && !can_call(one.device);  // somebody has to poll
    if (others_wait || !launches(one)) return false;
  }
  for (const auto& earlier : one.owner->queue) {
    if (earlier.get() == &one) break;
    if (!finishes(*earlier)) return false;
  }
  for (const cudaStream_t handle : one.streams) {
    const stream& where = *world_.find(handle);
    const auto self = std::find_if(where.items.begin(), where.items.end(), [&](const stream_item& item) {
      const auto* work = std::get_if<kernel_work>(&item);
      return work != nullptr && work->get() == &one;
    });
    const auto passed = passed_.find(&where);
    const std::size_t count = passed == passed_.end() ? 0 : passed->second;
    if (count < static_cast<std::size_t>(self - where.items.begin())) return false;
  }
  return has_room(one);
}

bool outlook::passes(const stream& where, std::size_t index) {
  const stream_item& item = where.items[index];
  if (const auto* mark = std::get_if<event_mark>(&item)) passing_.insert(mark->record.get());
  // The test will release it.
  if (world_.devices[static_cast<std::size_t>(where.device)]->held) return true;
  if (const auto* work = std::get_if<kernel_work>(&item)) return finishes(**work);
  const auto* wait = std::get_if<event_wait>(&item);
  return wait == nullptr || passes(*wait->record);
}

bool outlook::grow_streams() {
  bool grown = false;
  for (const auto& [handle, where] : world_.streams) {
    std::size_t& count = passed_[where.get()];
    while (count < where->items.size() && passes(*where, count)) {
      ++count;
      grown = true;
    }
  }
  return grown;
}

bool outlook::grow() {
  bool grown = grow_streams();
  for (std::size_t device = 0; device < world_.devices.size(); ++device) {
    for (const auto& one : world_.kernels_on(static_cast<int>(device))) {
      if (finishes(*one)) continue;
      const bool possible =
          world_.is_excused(*one) || (starts(*one) && meets_partners(*one) &&
                                      std::all_of(one->partners.begin(), one->partners.end(), [&](const auto& link) {
                                        return link.second == nullptr || link.second->stage == kernel_stage::finished ||
                                               starts(*link.second);
                                      }));
      if (possible) grown = finishing_.insert(one.get()).second || grown;
    }
  }
  for (const blocked_call& call : world_.blocked)
    if (!ending_.contains(&call) && (call.scripted || call.ready() || call.possible(*this)))
      grown = ending_.insert(&call).second || grown;
  return grown;
}

std::optional<std::string> outlook::stuck() const {
  for (std::size_t device = 0; device < world_.devices.size(); ++device)
    for (const auto& one : world_.kernels_on(static_cast<int>(device)))
      if (!finishes(*one)) return "a kernel can never finish: " + describe(*one);
  for (const blocked_call& call : world_.blocked)
    if (!ending_.contains(&call)) return "rank " + std::to_string(call.device) + " can never return from " + call.what;
  return std::nullopt;
}

}  // namespace cuda_model
