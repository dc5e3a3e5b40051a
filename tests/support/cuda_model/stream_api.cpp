// SPDX-License-Identifier: Apache-2.0
// Streams and what is put on them.
#include "cuda_model/stream_checks.hpp"

#include "cuda_model/hang.hpp"

#include <memory>
#include <utility>

namespace cuda_model {
namespace {

bool is_default_stream(cudaStream_t handle) {
  return handle == nullptr || handle == cudaStreamLegacy || handle == cudaStreamPerThread;
}

bool fits_kind(cudaMemcpyKind kind, const location& to, const location& from) {
  using where = location::kind;
  const bool to_device = to.where == where::device;
  const bool from_device = from.where == where::device;
  switch (kind) {
    case cudaMemcpyDefault:
      return true;
    case cudaMemcpyHostToHost:
      return !to_device && !from_device;
    case cudaMemcpyHostToDevice:
      return to_device && !from_device;
    case cudaMemcpyDeviceToHost:
      return !to_device && from_device;
    case cudaMemcpyDeviceToDevice:
      return to_device && from_device;
  }
  return false;
}

cudaError_t wait_for(call& context, cudaStream_t handle) {
  state& world = context.world();
  const int device = world.find(handle)->device;
  const cudaError_t& broken = world.devices[static_cast<std::size_t>(device)]->broken;
  // Another thread may destroy the stream meanwhile.
  const auto ready = [&world, &broken, handle] {
    const stream* where = world.find(handle);
    return where == nullptr || where->items.empty() || broken != cudaSuccess;
  };
  const bool ended = context.wait(device, ready, [&world, handle](outlook& future) {
    const stream* where = world.find(handle);
    return where == nullptr || future.drains(*where);
  });
  if (broken != cudaSuccess) return broken;
  return ended ? cudaSuccess : cudaErrorLaunchTimeout;
}

}  // namespace

void put(call& context, stream& where, stream_item item) {
  where.items.push_back(std::move(item));
  context.world().touch();
}

stream* usable_stream(call& context, cudaStream_t handle) {
  if (is_default_stream(handle)) return context.refuse(rules::own_streams, nullptr, "the stream is a default stream");
  stream* found = context.world().find(handle);
  if (found == nullptr) context.violate(rules::live_handles, "there is no such stream");
  return found;
}

stream* issuing_stream(call& context, cudaStream_t handle) {
  stream* found = usable_stream(context, handle);
  if (found == nullptr || found->device == context.current_device()) return found;
  return context.refuse(rules::live_handles, nullptr, "the stream is of another device than the thread");
}

void check_succeeded(call& context, cudaStream_t handle) {
  for (const auto& [number, one] : context.world().communicators)
    for (const auto& group : one->launching)
      for (const cudaStream_t used : group->streams)
        if (used == handle) return context.violate(rules::record_after_success, describe(*group) + " is in progress");
}

}  // namespace cuda_model

using namespace cuda_model;

extern "C" {

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* handle, unsigned flags) {
  return cuda_call("cudaStreamCreateWithFlags", [&](call& context) {
    if ((flags & cudaStreamNonBlocking) == 0)
      context.violate(rules::own_streams, "the stream would wait for the default stream");
    auto made = std::make_unique<stream>();
    made->device = context.current_device();
    const auto number = context.world().next_handle++;
    context.world().streams.emplace(number, std::move(made));
    *handle = handle_of<cudaStream_t>(number);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  return cuda_call("cudaStreamDestroy", [&](call& context) {
    stream* where = usable_stream(context, handle);
    if (where == nullptr) return cudaErrorInvalidResourceHandle;
    // CUDA returns at once and lets the work end; no program of ours may rely on that.
    if (!where->items.empty()) context.violate(rules::live_handles, "the stream has unfinished work");
    const cudaError_t code = wait_for(context, handle);
    context.world().streams.erase(number_of(handle));
    return code;
  });
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  return cuda_call("cudaStreamQuery", [&](call& context) {
    stream* where = usable_stream(context, handle);
    if (where == nullptr) return cudaErrorInvalidResourceHandle;
    check_succeeded(context, handle);
    const cudaError_t broken = context.world().devices[static_cast<std::size_t>(where->device)]->broken;
    if (broken != cudaSuccess) return broken;
    return where->items.empty() ? cudaSuccess : cudaErrorNotReady;
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  return cuda_call("cudaStreamSynchronize", [&](call& context) {
    stream* where = usable_stream(context, handle);
    if (where == nullptr) return cudaErrorInvalidResourceHandle;
    check_succeeded(context, handle);
    return wait_for(context, handle);
  });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t awaited, unsigned) {
  return cuda_call("cudaStreamWaitEvent", [&](call& context) {
    stream* where = issuing_stream(context, handle);
    const event* what = context.world().find(awaited);
    if (what == nullptr) context.violate(rules::live_handles, "there is no such event");
    if (where == nullptr || what == nullptr) return cudaErrorInvalidResourceHandle;
    if (what->last != nullptr) put(context, *where, event_wait{what->last});
    return cudaSuccess;
  });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void* data) {
  return cuda_call("cudaLaunchHostFunc", [&](call& context) {
    stream* where = issuing_stream(context, handle);
    if (where == nullptr) return cudaErrorInvalidResourceHandle;
    put(context, *where, host_function{function, data});
    return cudaSuccess;
  });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t handle) {
  return cuda_call("cudaMemcpyAsync", [&](call& context) {
    stream* where = issuing_stream(context, handle);
    if (where == nullptr) return cudaErrorInvalidResourceHandle;
    const location target = context.world().locate(to, bytes);
    const location source = context.world().locate(from, bytes);
    if (target.where == location::kind::invalid || source.where == location::kind::invalid)
      return context.refuse(rules::valid_arguments, cudaErrorInvalidValue, "the memory is not allocated");
    if (!fits_kind(kind, target, source)) return cudaErrorInvalidMemcpyDirection;
    put(context, *where, copy_work{to, from, bytes});
    // Through a staging buffer, whose use the caller waits for.
    const bool pageable = target.where == location::kind::pageable || source.where == location::kind::pageable;
    return pageable ? wait_for(context, handle) : cudaSuccess;
  });
}

cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t handle) {
  return cuda_call("cudaMemsetAsync", [&](call& context) {
    stream* where = issuing_stream(context, handle);
    if (where == nullptr) return cudaErrorInvalidResourceHandle;
    const location target = context.world().locate(to, bytes);
    if (target.where != location::kind::device && target.where != location::kind::pinned)
      return context.refuse(rules::valid_arguments, cudaErrorInvalidValue, "the memory is not the device's or pinned");
    put(context, *where, fill_work{to, value, bytes});
    return cudaSuccess;
  });
}

}  // extern "C"
