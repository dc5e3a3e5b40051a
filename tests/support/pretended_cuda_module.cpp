// SPDX-License-Identifier: Apache-2.0
// Loaded as weft's module for CUDA where a test wants to know that it is found: it has no device, and says so.
#include "device/cuda_module.hpp"

namespace {

std::string problem_of(int ordinal) {
  return "the pretended module has no device " + std::to_string(ordinal);
}

std::unique_ptr<weft::detail::device> make_nothing(const weft::detail::cuda_options&, weft::detail::device_events&) {
  return nullptr;
}

}  // namespace

extern "C" const weft::detail::cuda_module* weft_cuda_module() {
  static constexpr weft::detail::cuda_module module{weft::detail::cuda_module_version, &problem_of, &make_nothing};
  return &module;
}
