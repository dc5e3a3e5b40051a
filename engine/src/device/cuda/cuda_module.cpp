// SPDX-License-Identifier: Apache-2.0
#include "device/cuda_module.hpp"

#include "device/cuda/cuda_device.hpp"

namespace weft::detail {
namespace {

std::string problem_of(int ordinal) {
  int devices = 0;
  if (const cudaError_t counted = cudaGetDeviceCount(&devices); counted != cudaSuccess)
    return describe("cudaGetDeviceCount", code_of(counted));
  if (ordinal < devices) return {};
  return "there is no device " + std::to_string(ordinal) + ": CUDA finds " + std::to_string(devices);
}

std::unique_ptr<device> make_device(const cuda_options& options, device_events& events) {
  return std::make_unique<cuda_device>(options, events);
}

}  // namespace
}  // namespace weft::detail

extern "C" __attribute__((visibility("default"))) const weft::detail::cuda_module* weft_cuda_module() {
  using namespace weft::detail;
  static constexpr cuda_module module{cuda_module_version, &problem_of, &make_device};
  return &module;
}
