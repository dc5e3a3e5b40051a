// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/coro/cuda/category.hpp>

#include <boost/system/system_error.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>
#include <vector>

namespace weft::coro::cuda {

/// A fixed number of events without timing, which makes them ten times as fast. Not for several threads.
class event_pool {
 public:
  /// Makes `capacity` events on the calling thread's device. Throws boost::system::system_error with a code of CUDA's.
  event_pool(std::size_t capacity, unsigned flags) {
    events_.reserve(capacity);
    try {
      for (std::size_t i = 0; i < capacity; ++i) events_.push_back(make_event(flags));
    } catch (...) {
      destroy_events();
      throw;
    }
  }
  event_pool(const event_pool&) = delete;
  event_pool& operator=(const event_pool&) = delete;
  /// An event that was taken and not given back is left to CUDA: destroying it may hang while a kernel does.
  ~event_pool() { destroy_events(); }

  /// An event for one recording; null if all are taken.
  [[nodiscard]] cudaEvent_t take() noexcept {
    if (events_.empty()) return nullptr;
    const cudaEvent_t event = events_.back();
    events_.pop_back();
    return event;
  }

  /// Precondition: it was taken, and its recording is done or failed.
  void give_back(cudaEvent_t event) noexcept { events_.push_back(event); }

 private:
  static cudaEvent_t make_event(unsigned flags) {
    cudaEvent_t event = nullptr;
    if (const auto code = cudaEventCreateWithFlags(&event, flags | cudaEventDisableTiming); code != cudaSuccess)
      throw boost::system::system_error(make_error_code(code), "cannot make an event to await streams with");
    return event;
  }

  void destroy_events() noexcept {
    for (const cudaEvent_t event : events_) cudaEventDestroy(event);
  }

  std::vector<cudaEvent_t> events_;  // room for all of them, so that giving back does not allocate
};

}  // namespace weft::coro::cuda
