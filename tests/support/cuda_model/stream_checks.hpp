// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda_model/entry.hpp"

namespace cuda_model {

/// The stream of that handle; null, and a rule broken, where there is none or it is a default stream.
[[nodiscard]] stream* usable_stream(call& context, cudaStream_t handle);

/// The same for putting work on it: the thread is on the stream's device.
[[nodiscard]] stream* issuing_stream(call& context, cudaStream_t handle);

/// A group in progress has not reached the stream, which therefore reads as done too early.
void check_succeeded(call& context, cudaStream_t handle);

void put(call& context, stream& where, stream_item item);

}  // namespace cuda_model
