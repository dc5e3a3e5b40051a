// SPDX-License-Identifier: Apache-2.0
#include "cuda_model/hang.hpp"
#include "cuda_model/stream_checks.hpp"

#include <memory>
#include <utility>

namespace cuda_model {
namespace {

event* usable_event(call& context, cudaEvent_t handle) {
  event* found = context.world().find(handle);
  if (found == nullptr) context.violate(rules::live_handles, "there is no such event");
  return found;
}

cudaError_t broken(const call& context, const event& one) {
  return context.world().devices[static_cast<std::size_t>(one.device)]->broken;
}

bool is_done(const event& one) {
  return one.last == nullptr || one.last->done;
}

cudaError_t wait_for(call& context, const event& one) {
  const auto record = one.last;
  const cudaError_t& code = context.world().devices[static_cast<std::size_t>(one.device)]->broken;
  const bool ended = context.wait(
      one.device, [record, &code] { return record == nullptr || record->done || code != cudaSuccess; },
      [record](outlook& future) { return future.passes(*record); });
  if (code != cudaSuccess) return code;
  return ended ? cudaSuccess : cudaErrorLaunchTimeout;
}

}  // namespace
}  // namespace cuda_model

using namespace cuda_model;

extern "C" {

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* handle, unsigned flags) {
  return cuda_call("cudaEventCreateWithFlags", [&](call& context) {
    auto made = std::make_unique<event>();
    made->device = context.current_device();
    made->flags = flags;
    if ((flags & cudaEventDisableTiming) == 0) ++context.world().timing_events;
    const auto number = context.world().next_handle++;
    context.world().events.emplace(number, std::move(made));
    *handle = handle_of<cudaEvent_t>(number);
    return cudaSuccess;
  });
}

cudaError_t cudaEventRecord(cudaEvent_t handle, cudaStream_t on) {
  return cuda_call("cudaEventRecord", [&](call& context) {
    event* what = usable_event(context, handle);
    stream* where = usable_stream(context, on);
    if (what == nullptr || where == nullptr) return cudaErrorInvalidResourceHandle;
    if (what->device != where->device)
      return context.refuse(rules::live_handles, cudaErrorInvalidResourceHandle,
                            "the event is of another device than the stream");
    check_succeeded(context, on);
    what->last = std::make_shared<event_record>();
    put(context, *where, event_mark{what->last});
    return broken(context, *what);
  });
}

cudaError_t cudaEventQuery(cudaEvent_t handle) {
  return cuda_call("cudaEventQuery", [&](call& context) {
    const event* what = usable_event(context, handle);
    if (what == nullptr) return cudaErrorInvalidResourceHandle;
    if (const auto code = broken(context, *what)) return code;
    return is_done(*what) ? cudaSuccess : cudaErrorNotReady;
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  return cuda_call("cudaEventSynchronize", [&](call& context) {
    const event* what = usable_event(context, handle);
    return what == nullptr ? cudaErrorInvalidResourceHandle : wait_for(context, *what);
  });
}

cudaError_t cudaEventDestroy(cudaEvent_t handle) {
  return cuda_call("cudaEventDestroy", [&](call& context) {
    const event* what = usable_event(context, handle);
    if (what == nullptr) return cudaErrorInvalidResourceHandle;
    cudaError_t code = cudaSuccess;
    if (!is_done(*what) && broken(context, *what) == cudaSuccess) {
      context.violate(rules::finished_events, "the event is recorded and not done");
      code = wait_for(context, *what);
    }
    context.world().events.erase(number_of(handle));
    return code;
  });
}

}  // extern "C"
