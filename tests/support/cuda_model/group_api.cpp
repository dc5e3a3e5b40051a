// SPDX-License-Identifier: Apache-2.0
#include "cuda_model/group.hpp"

#include <utility>

namespace cuda_model {
namespace {

ncclResult_t end_group(call& context) {
  thread_state& self = context.self();
  if (--self.group_depth > 0) return ncclSuccess;
  const auto operations = std::exchange(self.operations, {});
  const ncclResult_t error = std::exchange(self.group_error, ncclSuccess);
  if (error != ncclSuccess) return error;
  return operations.empty() ? ncclSuccess : launch(context, operations);
}

/// A group that cannot be ended is over all the same, and one that lacks an operation fails.
void leave_group(call& context, ncclResult_t) {
  thread_state& self = context.self();
  if (self.group_depth == 0 || --self.group_depth > 0) return;
  self.operations.clear();
  self.group_error = ncclSuccess;
}
void fail_group(call& context, ncclResult_t code) {
  if (context.self().group_depth > 0) context.self().group_error = code;
}

}  // namespace
}  // namespace cuda_model

using namespace cuda_model;

extern "C" {

ncclResult_t ncclGroupStart() {
  return nccl_call("ncclGroupStart", nullptr, false, [](call& context) {
    ++context.self().group_depth;
    return ncclSuccess;
  });
}

ncclResult_t ncclGroupEnd() {
  return nccl_call(
      "ncclGroupEnd", nullptr, true,
      [](call& context) {
        // Not a violation: it is how a program finds out whether a group was left open.
        return context.self().group_depth == 0 ? ncclInvalidUsage : end_group(context);
      },
      leave_group);
}

ncclResult_t ncclSend(const void* memory, std::size_t count, ncclDataType_t type, int peer, ncclComm_t handle,
                      cudaStream_t on) {
  return nccl_call(
      "ncclSend", handle, true,
      [&](call& context) {
        return add_operation(context, {true, peer, const_cast<void*>(memory), count * size_of(type), type, handle, on});
      },
      fail_group);
}

ncclResult_t ncclRecv(void* memory, std::size_t count, ncclDataType_t type, int peer, ncclComm_t handle,
                      cudaStream_t on) {
  return nccl_call(
      "ncclRecv", handle, true,
      [&](call& context) {
        return add_operation(context, {false, peer, memory, count * size_of(type), type, handle, on});
      },
      fail_group);
}

}  // extern "C"
