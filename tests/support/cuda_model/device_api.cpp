// SPDX-License-Identifier: Apache-2.0
// Devices and errors.
#include "cuda_model/entry.hpp"

#include <array>
#include <cstring>
#include <utility>

namespace cuda_model {
namespace {

struct named_error {
  cudaError_t code;
  const char* name;
  const char* text;
};

constexpr std::array named_errors{
    named_error{cudaSuccess, "cudaSuccess", "no error"},
    named_error{cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    named_error{cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    named_error{cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver", "the driver is missing or too old"},
    named_error{cudaErrorNoDevice, "cudaErrorNoDevice", "there is no device"},
    named_error{cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "there is no device of that number"},
    named_error{cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection", "the copy goes another way"},
    named_error{cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid handle"},
    named_error{cudaErrorNotReady, "cudaErrorNotReady", "not ready"},
    named_error{cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "illegal memory access"},
    named_error{cudaErrorLaunchTimeout, "cudaErrorLaunchTimeout", "a kernel never ended"},
    named_error{cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "a kernel failed"},
    named_error{cudaErrorNotPermitted, "cudaErrorNotPermitted", "not permitted"},
    named_error{cudaErrorUnknown, "cudaErrorUnknown", "unknown error"},
};

const named_error* find_error(cudaError_t code) {
  for (const named_error& each : named_errors)
    if (each.code == code) return &each;
  return nullptr;
}

bool is_device(const call& context, int device) {
  return device >= 0 && std::cmp_less(device, context.world().devices.size());
}

int value_of(cudaDeviceAttr attribute, int device) {
  switch (attribute) {
    case cudaDevAttrComputeCapabilityMajor:
      return 9;
    case cudaDevAttrPciBusId:
      return device + 1;
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrCanMapHostMemory:
      return 1;
    default:
      return 0;
  }
}

cudaError_t last_error(bool forget) {
  const auto world = current_state();
  if (world == nullptr) return answer_without_driver();
  const std::lock_guard lock(world->mutex);
  thread_state& self = this_thread(world->generation);
  const cudaError_t code = self.last_error;
  const bool stays =
      self.device != no_device && world->devices[static_cast<std::size_t>(self.device)]->broken != cudaSuccess;
  if (forget && !stays) self.last_error = cudaSuccess;
  return code;
}

}  // namespace
}  // namespace cuda_model

using namespace cuda_model;

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  return cuda_call("cudaGetDeviceCount", [&](call& context) {
    *count = static_cast<int>(context.world().devices.size());
    return cudaSuccess;
  });
}

cudaError_t cudaSetDevice(int device) {
  return cuda_call("cudaSetDevice", [&](call& context) {
    if (!is_device(context, device)) return cudaErrorInvalidDevice;
    context.self().device = device;
    return context.world().devices[static_cast<std::size_t>(device)]->broken;
  });
}

cudaError_t cudaGetDevice(int* device) {
  return cuda_call("cudaGetDevice", [&](call& context) {
    *device = context.self().device == no_device ? 0 : context.self().device;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return cuda_call("cudaDeviceGetAttribute", [&](call& context) {
    if (!is_device(context, device)) return cudaErrorInvalidDevice;
    *value = value_of(attribute, device);
    return cudaSuccess;
  });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return cuda_call("cudaGetDeviceProperties", [&](call& context) {
    if (!is_device(context, device)) return cudaErrorInvalidDevice;
    *properties = cudaDeviceProp{};
    std::strcpy(properties->name, "strict model");
    properties->totalGlobalMem = context.world().settings.device_bytes;
    properties->major = value_of(cudaDevAttrComputeCapabilityMajor, device);
    properties->pciBusID = value_of(cudaDevAttrPciBusId, device);
    properties->unifiedAddressing = 1;
    properties->canMapHostMemory = 1;
    return cudaSuccess;
  });
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = current_state() == nullptr ? 0 : CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaGetLastError() {
  return last_error(true);
}
cudaError_t cudaPeekAtLastError() {
  return last_error(false);
}

const char* cudaGetErrorName(cudaError_t code) {
  const auto* known = find_error(code);
  return known != nullptr ? known->name : "unrecognized error code";
}
const char* cudaGetErrorString(cudaError_t code) {
  const auto* known = find_error(code);
  return known != nullptr ? known->text : "unrecognized error code";
}

}  // extern "C"
