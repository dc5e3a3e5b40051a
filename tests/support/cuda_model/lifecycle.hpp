// SPDX-License-Identifier: Apache-2.0
// How a communicator moves on: from being made to being gone.
#pragma once

#include "cuda_model/entry.hpp"

namespace cuda_model {

/// Notes the thread that makes NCCL calls for the device; there is one.
void claim_device(call& context, int device);

/// The communicator may be used; else the code to return.
[[nodiscard]] std::optional<ncclResult_t> refuse_unready(call& context, communicator& one);

/// Starts an activity. A blocking communicator ends it before this returns; another ends it while it is polled.
ncclResult_t begin(call& context, communicator& one, activity what);

/// One answer of ncclCommGetAsyncError.
[[nodiscard]] ncclResult_t poll(call& context, communicator& one);

/// What the communicator has under way ends without delivery.
void drop_work(state& world, communicator& one);

/// The handle is gone.
void erase(state& world, communicator& one);

}  // namespace cuda_model
