// SPDX-License-Identifier: Apache-2.0
// Allocation and what is known of pointers.
#include "cuda_model/entry.hpp"
#include "cuda_model/hang.hpp"

#include <string>

namespace cuda_model {
namespace {

/// Allocating and freeing wait for the kernels of the device, and so may wait for ever.
bool drain(call& context, int device) {
  state& world = context.world();
  if (world.kernels_on(device).empty()) return true;
  context.violate(rules::preallocated_memory, "a kernel is on the device");
  return context.wait(
      device, [&world, device] { return world.kernels_on(device).empty(); },
      [device](outlook& future) { return future.drains(device); });
}

bool check_unused(call& context, const void* memory, std::size_t bytes) {
  state& world = context.world();
  bool used = world.is_used_by_transfer(memory, bytes);
  for (const auto& [handle, where] : world.streams) {
    for (const stream_item& item : where->items) {
      const auto* copy = std::get_if<copy_work>(&item);
      const auto* fill = std::get_if<fill_work>(&item);
      used = used || (copy != nullptr && (overlaps(copy->to, copy->bytes, memory, bytes) ||
                                          overlaps(copy->from, copy->bytes, memory, bytes)));
      used = used || (fill != nullptr && overlaps(fill->to, fill->bytes, memory, bytes));
    }
  }
  if (used) context.violate(rules::kept_memory, "a launched transfer or copy uses the memory");
  return !used;
}

}  // namespace
}  // namespace cuda_model

using namespace cuda_model;

extern "C" {

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  return cuda_call("cudaMalloc", [&](call& context) {
    const int device = context.current_device();
    *memory = nullptr;
    if (!drain(context, device)) return cudaErrorLaunchTimeout;
    if (bytes == 0) return cudaSuccess;
    if (bytes > context.world().settings.device_bytes) return cudaErrorMemoryAllocation;
    *memory = context.world().devices[static_cast<std::size_t>(device)]->memory.allocate(bytes);
    return *memory != nullptr ? cudaSuccess : cudaErrorMemoryAllocation;
  });
}

cudaError_t cudaFree(void* memory) {
  return cuda_call("cudaFree", [&](call& context) {
    state& world = context.world();
    if (memory == nullptr) return cudaSuccess;
    const location where = world.locate(memory, 0);
    const std::size_t bytes = where.where == location::kind::device
                                  ? world.devices[static_cast<std::size_t>(where.device)]->memory.size_of(memory)
                                  : 0;
    if (bytes == 0)
      return context.refuse(rules::valid_arguments, cudaErrorInvalidValue, "there is no allocation at the address");
    check_unused(context, memory, bytes);
    if (!drain(context, where.device)) return cudaErrorLaunchTimeout;
    world.devices[static_cast<std::size_t>(where.device)]->memory.free(memory);
    return cudaSuccess;
  });
}

cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned) {
  return cuda_call("cudaHostAlloc", [&](call& context) {
    const int device = context.current_device();
    *memory = nullptr;
    if (!drain(context, device)) return cudaErrorLaunchTimeout;
    if (bytes == 0) return cudaSuccess;
    *memory = context.world().pinned.allocate(bytes);
    return *memory != nullptr ? cudaSuccess : cudaErrorMemoryAllocation;
  });
}

cudaError_t cudaFreeHost(void* memory) {
  return cuda_call("cudaFreeHost", [&](call& context) {
    state& world = context.world();
    if (memory == nullptr) return cudaSuccess;
    const std::size_t bytes = world.pinned.size_of(memory);
    if (bytes == 0)
      return context.refuse(rules::valid_arguments, cudaErrorInvalidValue, "there is no allocation at the address");
    const bool used = !check_unused(context, memory, bytes);
    if (!drain(context, context.current_device())) return cudaErrorLaunchTimeout;
    world.pinned.free(memory, used);
    return cudaSuccess;
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  return cuda_call("cudaPointerGetAttributes", [&](call& context) {
    const location where = context.world().locate(pointer, 0);
    *attributes = cudaPointerAttributes{};
    attributes->type = cudaMemoryTypeUnregistered;
    attributes->device = cudaInvalidDeviceId;
    attributes->hostPointer = const_cast<void*>(pointer);
    if (where.where == location::kind::pinned) {
      attributes->type = cudaMemoryTypeHost;
      attributes->device = context.self().device == no_device ? 0 : context.self().device;
      attributes->devicePointer = attributes->hostPointer;
    } else if (where.where == location::kind::device) {
      attributes->type = cudaMemoryTypeDevice;
      attributes->device = where.device;
      attributes->devicePointer = std::exchange(attributes->hostPointer, nullptr);
    }
    return cudaSuccess;
  });
}

}  // extern "C"
