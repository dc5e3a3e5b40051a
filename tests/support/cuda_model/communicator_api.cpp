// SPDX-License-Identifier: Apache-2.0
#include "cuda_model/lifecycle.hpp"

#include "cuda_model/hang.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

namespace cuda_model {
namespace {

constexpr unsigned config_magic = 0xcafebeef;  // what NCCL_CONFIG_INITIALIZER sets

std::uint64_t number_in(const ncclUniqueId& id) {
  std::uint64_t number = 0;
  std::memcpy(&number, id.internal, sizeof number);
  return number;
}

bool is_usable(const ncclConfig_t* config) {
  return config == nullptr || (config->magic == config_magic && config->size == sizeof(ncclConfig_t));
}

ncclResult_t refuse_argument(call& context, const std::string& detail) {
  return context.refuse(rules::valid_arguments, ncclInvalidArgument, detail);
}

/// The rank may join: else the code to return.
std::optional<ncclResult_t> refuse_member(call& context, const clique& group, int size, int rank, int device) {
  if (group.size != 0 && group.size != size)
    return context.refuse(rules::fresh_ids, ncclInvalidArgument, "the ranks disagree about the number of ranks");
  if (group.arrived.contains(rank))
    return context.refuse(rules::fresh_ids, ncclInvalidUsage, "the rank has joined with this id before");
  const bool shared = std::any_of(group.devices.begin(), group.devices.end(),
                                  [device](const auto& other) { return other.second == device; });
  if (shared) return context.refuse(rules::unique_devices, ncclInvalidUsage, "two ranks are on one device");
  return std::nullopt;
}

communicator& join(call& context, const std::shared_ptr<clique>& group, int size, int rank, bool blocking) {
  state& world = context.world();
  auto made = std::make_unique<communicator>();
  made->handle = world.next_handle++;
  made->group = group;
  made->rank = rank;
  made->device = context.current_device();
  made->blocking = blocking;
  group->size = size;
  group->members[rank] = made.get();
  group->arrived.insert(rank);
  group->devices[rank] = made->device;
  return *(world.communicators[made->handle] = std::move(made));
}

ncclResult_t initialize(call& context, ncclComm_t* result, int size, const ncclUniqueId& id, int rank,
                        const ncclConfig_t* config) {
  *result = nullptr;
  const int device = context.current_device();
  claim_device(context, device);
  if (context.self().group_depth > 0)
    return context.refuse(rules::valid_arguments, ncclInvalidUsage, "called within a group, which is not modelled");
  if (size < 1 || rank < 0 || rank >= size) return refuse_argument(context, "the rank is not in the communicator");
  if (!is_usable(config)) return refuse_argument(context, "the config was not initialized");
  const auto found = context.world().cliques.find(number_in(id));
  if (found == context.world().cliques.end())
    return context.refuse(rules::fresh_ids, ncclInvalidArgument, "no call of ncclGetUniqueId made this id");
  if (const auto code = refuse_member(context, *found->second, size, rank, device)) return *code;

  const bool blocking = config == nullptr || config->blocking != 0;
  communicator& made = join(context, found->second, size, rank, blocking);
  context.set_subject(made);
  const ncclResult_t code = begin(context, made, activity::initializing);
  const bool exists = code == ncclSuccess || code == ncclInProgress;
  if (exists) *result = handle_of<ncclComm_t>(made.handle);
  if (!exists) erase(context.world(), made);
  return code;
}

/// NCCL enters a group first, and forgets to leave it where it finds no device.
void leak_group_level(call& context, ncclResult_t code) {
  if (code == ncclUnhandledCudaError) ++context.self().group_depth;
}

const char* text_of(ncclResult_t code) {
  switch (code) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "a CUDA call failed";
    case ncclSystemError:
      return "a system call failed";
    case ncclInternalError:
      return "internal error";
    case ncclInvalidArgument:
      return "invalid argument";
    case ncclInvalidUsage:
      return "invalid usage";
    case ncclRemoteError:
      return "another rank failed";
    case ncclInProgress:
      return "in progress";
    default:
      return "unknown result code";
  }
}

}  // namespace
}  // namespace cuda_model

using namespace cuda_model;

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  return nccl_call("ncclGetUniqueId", nullptr, false, [&](call& context) {
    auto group = std::make_shared<clique>();
    group->number = context.world().next_handle++;
    *id = ncclUniqueId{};
    std::memcpy(id->internal, &group->number, sizeof group->number);
    context.world().cliques.emplace(group->number, std::move(group));
    return ncclSuccess;
  });
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* result, int size, ncclUniqueId id, int rank, ncclConfig_t* config) {
  return nccl_call(
      "ncclCommInitRankConfig", nullptr, true,
      [&](call& context) { return initialize(context, result, size, id, rank, config); }, leak_group_level);
}

ncclResult_t ncclCommFinalize(ncclComm_t handle) {
  return nccl_call("ncclCommFinalize", handle, true, [&](call& context) {
    communicator& one = *context.subject();
    claim_device(context, one.device);
    if (one.revoked || one.finalized)
      return context.refuse(rules::finalize_after_revoke, ncclInvalidUsage, "the communicator is revoked or finalized");
    if (const auto code = refuse_unready(context, one)) return *code;
    one.finalized = true;
    one.group->left.insert(one.rank);
    return begin(context, one, activity::finalizing);
  });
}

ncclResult_t ncclCommDestroy(ncclComm_t handle) {
  return nccl_call("ncclCommDestroy", handle, false, [&](call& context) {
    communicator& one = *context.subject();
    claim_device(context, one.device);
    if (one.failure != ncclSuccess) {
      // It returns early, and frees nothing.
      return context.refuse(rules::abort_after_error, one.failure, one.name() + " holds an asynchronous error");
    }
    if (const auto code = refuse_unready(context, one)) return *code;
    const bool drained = context.wait(
        one.device, [&one] { return !one.is_busy() || one.failure != ncclSuccess; },
        [&one](outlook& future) {
          return std::all_of(one.queue.begin(), one.queue.end(),
                             [&](const auto& group) { return future.finishes(*group); });
        });
    if (!drained) return ncclSystemError;
    erase(context.world(), one);
    return ncclSuccess;
  });
}

ncclResult_t ncclCommAbort(ncclComm_t handle) {
  return nccl_call("ncclCommAbort", handle, false, [&](call& context) {
    communicator& one = *context.subject();
    one.group->excused = true;
    if (one.failure == ncclSuccess) one.failure = ncclInternalError;  // ends calls that block on it
    drop_work(context.world(), one);
    erase(context.world(), one);
    return ncclSuccess;
  });
}

ncclResult_t ncclCommRevoke(ncclComm_t handle, int flags) {
  return nccl_call("ncclCommRevoke", handle, true, [&](call& context) {
    communicator& one = *context.subject();
    claim_device(context, one.device);
    if (flags != NCCL_REVOKE_DEFAULT) return refuse_argument(context, "the flags are reserved");
    if (const auto code = refuse_unready(context, one)) return *code;
    one.revoked = true;
    one.group->excused = true;
    drop_work(context.world(), one);
    return begin(context, one, activity::revoking);
  });
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t handle, ncclResult_t* result) {
  return nccl_call("ncclCommGetAsyncError", handle, false, [&](call& context) {
    *result = poll(context, *context.subject());
    return ncclSuccess;
  });
}

ncclResult_t ncclCommCount(const ncclComm_t handle, int* count) {
  return nccl_call("ncclCommCount", handle, false, [&](call& context) {
    if (const auto code = refuse_unready(context, *context.subject())) return *code;
    *count = context.subject()->group->size;
    return ncclSuccess;
  });
}

ncclResult_t ncclCommUserRank(const ncclComm_t handle, int* rank) {
  return nccl_call("ncclCommUserRank", handle, false, [&](call& context) {
    if (const auto code = refuse_unready(context, *context.subject())) return *code;
    *rank = context.subject()->rank;
    return ncclSuccess;
  });
}

ncclResult_t ncclCommCuDevice(const ncclComm_t handle, int* device) {
  return nccl_call("ncclCommCuDevice", handle, false, [&](call& context) {
    if (const auto code = refuse_unready(context, *context.subject())) return *code;
    *device = context.subject()->device;
    return ncclSuccess;
  });
}

const char* ncclGetErrorString(ncclResult_t code) {
  return text_of(code);
}
const char* ncclGetLastError(ncclComm_t) {
  return "see the violations of the strict model";
}

}  // extern "C"
