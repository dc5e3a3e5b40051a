// SPDX-License-Identifier: Apache-2.0
#include "cuda_model/group.hpp"

#include "cuda_model/lifecycle.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>

namespace cuda_model {
namespace {

using operations_view = std::span<const grouped_operation>;

std::optional<ncclResult_t> refuse_operation(call& context, const communicator& one, const grouped_operation& wanted) {
  state& world = context.world();
  if (wanted.peer < 0 || wanted.peer >= one.group->size)
    return context.refuse(rules::valid_arguments, ncclInvalidArgument,
                          "rank " + std::to_string(wanted.peer) + " is not in " + one.name());
  const location where = world.locate(wanted.memory, wanted.bytes);
  const bool own_device = where.where == location::kind::device && where.device == one.device;
  if (wanted.bytes > 0 && !own_device && where.where != location::kind::pinned)
    return context.refuse(rules::accessible_memory, ncclInvalidArgument,
                          "the memory is pageable, freed, too short, or another device's");
  const stream* on = world.find(wanted.stream);
  if (on == nullptr)
    return context.refuse(rules::own_streams, ncclInvalidArgument, "the stream is a default stream or destroyed");
  if (on->device != one.device)
    return context.refuse(rules::live_handles, ncclInvalidArgument, "the stream is of another device");
  return std::nullopt;
}

std::size_t peers_of(operations_view operations) {
  std::set<int> peers;
  for (const grouped_operation& each : operations) peers.insert(each.peer);
  return peers.size();
}

bool repeats(operations_view operations) {
  std::set<std::pair<int, bool>> seen;
  return !std::all_of(operations.begin(), operations.end(),
                      [&](const auto& each) { return seen.emplace(each.peer, each.sending).second; });
}

/// Where NCCL might cut: one operation earlier on every other rank.
std::size_t cut_after(const communicator& one, operations_view operations) {
  std::size_t count = operations.size();
  while (count > 1 && (peers_of(operations.first(count)) > widest_group || repeats(operations.first(count)))) --count;
  const bool is_cut = count < operations.size();
  return is_cut && count > 1 && one.rank % 2 == 1 ? count - 1 : count;
}

/// Sends to oneself and their receives are in one group.
bool keeps_to_itself(const communicator& one, operations_view operations) {
  std::vector<std::size_t> sent;
  std::vector<std::size_t> received;
  for (const grouped_operation& each : operations)
    if (each.peer == one.rank) (each.sending ? sent : received).push_back(each.bytes);
  return sent == received;
}

std::optional<ncclResult_t> refuse_group(call& context, communicator& one, operations_view operations) {
  state& world = context.world();
  if (one.revoked || one.finalized)
    return context.refuse(rules::finalize_after_revoke, ncclInvalidUsage, one.name() + " is revoked or finalized");
  if (const auto code = refuse_unready(context, one)) return code;
  for (const auto& [handle, other] : world.communicators)
    if (other->device == one.device && other->doing == activity::launching)
      return context.refuse(rules::one_group_at_a_time, ncclInvalidUsage, other->name() + " is launching a group");
  if (!keeps_to_itself(one, operations)) return context.refuse(rules::self_exchange, ncclInvalidUsage, one.name());
  if (peers_of(operations) > widest_group || repeats(operations))
    context.violate(rules::narrow_groups, one.name() + " has a group of " + std::to_string(operations.size()));
  return std::nullopt;
}

void check_residency(call& context, const communicator& one) {
  std::set<const communicator*> at_work{&one};
  for (const auto& each : context.world().kernels_on(one.device)) at_work.insert(each->owner);
  const auto most = static_cast<std::size_t>(context.world().settings.resident_kernels);
  if (at_work.size() > most)
    context.violate(rules::residency,
                    std::to_string(at_work.size()) + " communicators are at work, " + std::to_string(most) + " fit");
}

std::shared_ptr<kernel> make_kernel(communicator& one, operations_view operations) {
  auto made = std::make_shared<kernel>();
  made->owner = &one;
  made->device = one.device;
  for (const grouped_operation& each : operations) {
    transfer& added = made->transfers.emplace_back();
    added.sending = each.sending;
    added.peer = each.peer;
    added.memory = each.memory;
    added.bytes = each.bytes;
    added.type = each.type;
    made->partners[each.peer] = each.peer == one.rank ? made : nullptr;
    if (std::find(made->streams.begin(), made->streams.end(), each.stream) == made->streams.end())
      made->streams.push_back(each.stream);
  }
  return made;
}

/// Links the kernel with those of its peers that have been launched and that no other has met.
void meet_partners(call& context, const std::shared_ptr<kernel>& one) {
  clique& group = *one->owner->group;
  const int self = one->owner->rank;
  for (const auto& [peer, partner] : std::map(one->partners)) {
    if (partner != nullptr) continue;
    auto& waiting = group.unmatched[{peer, self}];
    if (waiting.empty()) {
      group.unmatched[{self, peer}].push_back(one);
      continue;
    }
    const std::shared_ptr<kernel> other = waiting.front();
    waiting.pop_front();
    one->partners[peer] = other;
    if (other->stage != kernel_stage::finished) other->partners[self] = one;
    check_mirrored(context.world(), *one, *other);
    if (one->stage == kernel_stage::finished) return;
  }
}

}  // namespace

std::size_t size_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
    case ncclFloat8e4m3:
    case ncclFloat8e5m2:
      return 1;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32:
      return 4;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64:
      return 8;
    default:
      return 0;
  }
}

ncclResult_t add_operation(call& context, const grouped_operation& wanted) {
  communicator& one = *context.subject();
  thread_state& self = context.self();
  claim_device(context, one.device);
  auto code = refuse_unready(context, one);
  if (!code) code = refuse_operation(context, one, wanted);
  if (code) {
    if (self.group_depth > 0) self.group_error = *code;
    return *code;
  }
  if (self.group_depth == 0) return launch(context, {wanted});
  self.operations.push_back(wanted);
  return ncclSuccess;
}

ncclResult_t launch(call& context, const std::vector<grouped_operation>& operations) {
  state& world = context.world();
  const bool mixed = std::any_of(operations.begin(), operations.end(), [&](const auto& each) {
    return each.communicator != operations.front().communicator;
  });
  if (mixed) return context.refuse(rules::one_communicator, ncclInvalidUsage, "the group has several communicators");
  communicator* found = world.find(operations.front().communicator);
  if (found == nullptr) return context.refuse(rules::live_handles, ncclInvalidArgument, "the communicator is gone");
  communicator& one = *found;
  context.set_subject(one);
  claim_device(context, one.device);
  if (const auto code = refuse_group(context, one, operations)) return *code;
  check_residency(context, one);

  std::vector<std::shared_ptr<kernel>> made;
  for (operations_view rest = operations; !rest.empty();) {
    const std::size_t count = cut_after(one, rest);
    made.push_back(make_kernel(one, rest.first(count)));
    made.back()->order = world.next_handle++;
    rest = rest.subspan(count);
  }
  for (const auto& each : made) guard_early(world, *each);
  one.launching = made;
  for (const auto& each : made)
    if (each->stage != kernel_stage::finished) meet_partners(context, each);
  if (one.failure != ncclSuccess) return one.failure;
  return begin(context, one, activity::launching);
}

}  // namespace cuda_model
