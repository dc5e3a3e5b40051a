// SPDX-License-Identifier: Apache-2.0
#include "machine.hpp"

#include <cuda_runtime_api.h>

namespace weft::gpu {
namespace {

class real_machine final : public machine {
 public:
  [[nodiscard]] std::string complaints() const override { return {}; }
};

void demand_gpu(cudaError_t code, const std::string& call) {
  if (code == cudaSuccess) return;
  throw no_gpu(call + ": " + cudaGetErrorName(code) + ", " + cudaGetErrorString(code) +
               "; it needs an NVIDIA GPU and a driver for CUDA " + std::to_string(CUDART_VERSION / 1000));
}

}  // namespace

std::unique_ptr<machine> switch_on() {
  int devices = 0;
  demand_gpu(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
  demand_gpu(cudaSetDevice(0), "cudaSetDevice");
  return std::make_unique<real_machine>();
}

}  // namespace weft::gpu
