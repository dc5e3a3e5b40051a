// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace weft::gpu {

/// A few calls and what they answer, in words that are the same wherever the answers are.
struct probe {
  std::string_view name;
  std::string (*ask)();
};

[[nodiscard]] std::span<const probe> cuda_probes();
[[nodiscard]] std::span<const probe> nccl_probes();

[[nodiscard]] std::string named(cudaError_t code);
[[nodiscard]] std::string named(ncclResult_t code);
[[nodiscard]] std::string listed(std::initializer_list<std::string> answers);

}  // namespace weft::gpu
