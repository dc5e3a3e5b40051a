// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// What cudaStream_t and cudaEvent_t point to, so that CUDA's headers are not needed here.
struct CUstream_st;
struct CUevent_st;

namespace weft {

/// Work of a GPU that an operation waits for before its buffer is touched. Made by `after`.
struct device_work {
  /// What there is to wait for.
  enum class kind : std::uint8_t {
    none,    ///< the buffer is ready
    stream,  ///< all that the stream has when the operation starts
    event,   ///< what was before the event when it was recorded
  };

  kind what = kind::none;  ///< none, unless `after` was given a stream or an event
  void* handle = nullptr;  ///< the cudaStream_t, where null is the default stream, or the cudaEvent_t

  /// All that a cudaStream_t has.
  [[nodiscard]] static constexpr device_work of(CUstream_st* stream) noexcept { return {kind::stream, stream}; }
  /// A cudaEvent_t.
  [[nodiscard]] static constexpr device_work of(CUevent_st* event) noexcept { return {kind::event, event}; }
};

}  // namespace weft
