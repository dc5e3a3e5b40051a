// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/cuda/cuda_result.hpp"

#include <vector>

namespace weft::detail {

/// Events that take no time stamps, which makes recording and querying ten times cheaper (parsec #576), used again.
class event_pool {
 public:
  event_pool() = default;
  event_pool(const event_pool&) = delete;
  event_pool& operator=(const event_pool&) = delete;
  ~event_pool() {
    for (const cudaEvent_t one : free_) (void)cudaEventDestroy(one);
  }

  [[nodiscard]] cudaEvent_t take() {
    if (free_.empty()) {
      cudaEvent_t made = nullptr;
      demand(cudaEventCreateWithFlags(&made, cudaEventDisableTiming), "cudaEventCreateWithFlags");
      return made;
    }
    const cudaEvent_t one = free_.back();
    free_.pop_back();
    return one;
  }
  /// One whose work is done: destroying another could hang (pytorch #97066).
  void give_back(cudaEvent_t one) { free_.push_back(one); }

 private:
  std::vector<cudaEvent_t> free_;
};

}  // namespace weft::detail
