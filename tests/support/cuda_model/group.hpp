// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda_model/entry.hpp"

#include <vector>

namespace cuda_model {

/// NCCL cuts larger groups, and where may differ between ranks.
inline constexpr std::size_t widest_group = 8;

/// Queues an operation in the thread's group, or launches it as a group of its own.
ncclResult_t add_operation(call& context, const grouped_operation& wanted);

/// Launches a group; all its operations are of one communicator.
ncclResult_t launch(call& context, const std::vector<grouped_operation>& operations);

[[nodiscard]] std::size_t size_of(ncclDataType_t type);

}  // namespace cuda_model
