// SPDX-License-Identifier: Apache-2.0
#include "cuda_model/kernel.hpp"

#include "cuda_model/state.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace cuda_model {
namespace {

std::uint64_t checksum_of(const std::byte* data, std::size_t bytes) {
  std::uint64_t sum = 0xcbf29ce484222325;  // FNV-1a
  for (std::size_t i = 0; i < bytes; ++i) sum = (sum ^ std::to_integer<std::uint64_t>(data[i])) * 0x100000001b3;
  return sum;
}

void guard(state& world, transfer& one) {
  if (one.guarded) return;
  one.guarded = true;
  std::byte* view = world.locate(one.memory, one.bytes).view;
  if (view == nullptr || one.bytes == 0) return;
  if (one.sending) one.checksum = checksum_of(view, one.bytes);
  if (!one.sending) std::memset(view, std::to_integer<int>(poison), one.bytes);
}

bool uses(const kernel& one, const transfer& other) {
  return std::any_of(one.transfers.begin(), one.transfers.end(), [&](const transfer& each) {
    return overlaps(each.memory, each.bytes, other.memory, other.bytes);
  });
}

/// Whether an item that comes before a transfer may touch its memory.
bool may_use(const stream_item& item, const transfer& wanted) {
  return std::visit(
      [&]<class Item>(const Item& it) {
        if constexpr (std::is_same_v<Item, copy_work>) {
          return overlaps(it.to, it.bytes, wanted.memory, wanted.bytes) ||
                 overlaps(it.from, it.bytes, wanted.memory, wanted.bytes);
        } else if constexpr (std::is_same_v<Item, fill_work>) {
          return overlaps(it.to, it.bytes, wanted.memory, wanted.bytes);
        } else if constexpr (std::is_same_v<Item, kernel_work>) {
          return uses(*it, wanted);
        } else {
          return !std::is_same_v<Item, event_mark>;
        }
      },
      item);
}

std::vector<const transfer*> toward(const kernel& one, int peer, bool sending) {
  std::vector<const transfer*> found;
  for (const transfer& each : one.transfers)
    if (each.peer == peer && each.sending == sending) found.push_back(&each);
  return found;
}

bool is_lone_send(const kernel& one) {
  return one.transfers.size() == 1 && one.transfers.front().sending;
}

std::string shape(const kernel& one) {
  std::string text;
  for (const transfer& each : one.transfers) {
    text += (text.empty() ? "" : ", ") + std::string(each.sending ? "send " : "receive ") + std::to_string(each.bytes) +
            (each.sending ? " bytes to " : " bytes from ") + std::to_string(each.peer);
  }
  return text;
}

void move_bytes(state& world, const kernel& source, kernel& destination) {
  const auto sends = toward(source, destination.owner->rank, true);
  auto next = sends.begin();
  for (transfer& each : destination.transfers) {
    if (each.sending || each.peer != source.owner->rank || next == sends.end()) continue;
    const transfer& from = **next++;
    const std::byte* view = world.locate(from.memory, from.bytes).view;
    if (view != nullptr) each.arrived.assign(view, view + from.bytes);
  }
}

/// Whether nobody has touched the memory since it was guarded.
bool is_untouched(const transfer& one, const std::byte* view) {
  if (one.sending) return checksum_of(view, one.bytes) == one.checksum;
  return std::all_of(view, view + one.bytes, [](std::byte each) { return each == poison; });
}

void land(state& world, const kernel& owner, const transfer& one, bool delivered) {
  std::byte* view = world.locate(one.memory, one.bytes).view;
  if (view == nullptr || one.bytes == 0 || !one.guarded) return;
  if (!is_untouched(one, view)) {
    world.violate(rules::untouched_memory, owner.device,
                  "memory was written while the device " + std::string(one.sending ? "sent" : "received into") +
                      " it: " + describe(owner));
  }
  if (!one.sending && delivered) std::copy(one.arrived.begin(), one.arrived.end(), view);
}

void refuse_pair(state& world, const rule& broken, const kernel& one, const kernel& other) {
  world.violate(broken, one.device, describe(one) + " meets " + describe(other));
  spoil(world, *one.owner);
}

}  // namespace

std::string describe(const kernel& one) {
  return "rank " + std::to_string(one.owner->rank) + " of " + one.owner->name() + " {" + shape(one) + "}";
}

void guard_early(state& world, kernel& one) {
  for (transfer& each : one.transfers) {
    bool in_use = std::any_of(one.owner->queue.begin(), one.owner->queue.end(),
                              [&](const auto& earlier) { return uses(*earlier, each); });
    for (const cudaStream_t handle : one.streams) {
      const stream& before = *world.find(handle);
      in_use = in_use || std::any_of(before.items.begin(), before.items.end(),
                                     [&](const stream_item& item) { return may_use(item, each); });
    }
    if (!in_use) guard(world, each);
  }
}

void guard_all(state& world, kernel& one) {
  for (transfer& each : one.transfers) guard(world, each);
}

void check_mirrored(state& world, const kernel& one, const kernel& other) {
  const int a = one.owner->rank;
  const int b = other.owner->rank;
  if (a != b && is_lone_send(one) && is_lone_send(other))
    return refuse_pair(world, rules::grouped_exchange, one, other);
  for (const bool sending : {true, false}) {
    const auto mine = toward(one, b, sending);
    const auto theirs = toward(other, a, !sending);
    if (mine.size() != theirs.size()) return refuse_pair(world, rules::mirrored_groups, one, other);
    for (std::size_t i = 0; i < mine.size(); ++i)
      if (mine[i]->bytes != theirs[i]->bytes || mine[i]->type != theirs[i]->type)
        return refuse_pair(world, rules::equal_sizes, one, other);
  }
}

void exchange(state& world, kernel& one, kernel& other) {
  move_bytes(world, one, other);
  if (&one != &other) move_bytes(world, other, one);
  one.exchanged[other.owner->rank] = true;
  other.exchanged[one.owner->rank] = true;
}

void finish(state& world, const std::shared_ptr<kernel>& one, bool delivered) {
  if (one->stage == kernel_stage::finished) return;
  for (const transfer& each : one->transfers) land(world, *one, each, delivered);
  one->stage = kernel_stage::finished;
  one->partners.clear();
  std::erase(one->owner->queue, one);
  std::erase(one->owner->launching, one);
  for (const cudaStream_t handle : one->streams) {
    stream* where = world.find(handle);
    if (where == nullptr) continue;
    std::erase_if(where->items, [&](const stream_item& item) {
      const auto* work = std::get_if<kernel_work>(&item);
      return work != nullptr && *work == one;
    });
  }
  world.touch();
}

void spoil(state& world, communicator& one) {
  one.group->excused = true;
  for (const auto& [rank, member] : one.group->members) {
    if (member->failure == ncclSuccess) member->failure = ncclRemoteError;
    while (!member->launching.empty()) finish(world, std::shared_ptr<kernel>(member->launching.back()), false);
    while (!member->queue.empty()) finish(world, std::shared_ptr<kernel>(member->queue.back()), false);
  }
  world.touch();
}

}  // namespace cuda_model
