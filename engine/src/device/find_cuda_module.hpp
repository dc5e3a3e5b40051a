// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/cuda_module.hpp"

#include <string>

namespace weft::detail {

struct found_module {
  const cuda_module* module = nullptr;
  std::string problem;  ///< why there is none, and what to do about it
};

/// weft's module for CUDA: a part of the program, or loaded from the first place that has it. It stays loaded, because
/// what it has made may live as long as the process.
[[nodiscard]] found_module find_cuda_module();

}  // namespace weft::detail
