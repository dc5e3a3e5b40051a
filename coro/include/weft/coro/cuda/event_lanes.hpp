// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/coro/completion.hpp>

#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace weft::coro::cuda {

/// What awaiting an event or a stream yields: nothing but that it is done.
struct reached {
  static constexpr bool raises = true;  ///< see raising_result

  /// Throws boost::system::system_error.
  [[noreturn]] void raise(boost::system::error_code code) const {
    throw boost::system::system_error(code, "awaiting the GPU");
  }
};

namespace detail {

struct awaited_event {
  std::uint64_t number = 0;
  waiter<reached>* who = nullptr;  ///< null: withdrawn, and only its event is still in use
  cudaEvent_t event = nullptr;
  bool pooled = false;
  bool watched = false;  ///< a thread is blocked on it
};

/// Events that are not done, by stream. Within a stream they are done in order, so only the oldest is asked for.
class event_lanes {
 public:
  /// `stream` may be null: then the event has a lane of its own.
  void add(cudaStream_t stream, const awaited_event& added) {
    lane_of(stream).events.push_back(added);
    ++size_;
  }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

  /// Asks for the oldest of each lane, and takes those that are not pending. `finished(awaited_event, cudaError_t)` may
  /// add events.
  template <class Finished>
  void collect(Finished finished) {
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      while (!lanes_[i].events.empty()) {
        const cudaError_t code = cudaEventQuery(lanes_[i].events.front().event);
        if (code == cudaErrorNotReady) break;
        const awaited_event done = lanes_[i].events.front();
        lanes_[i].events.pop_front();
        --size_;
        finished(done, code);
      }
    }
  }

  /// The oldest of all that no thread is blocked on; null if there is none.
  [[nodiscard]] awaited_event* oldest_unwatched() {
    awaited_event* oldest = nullptr;
    for (lane& each : lanes_) {
      const auto found = std::find_if(each.events.begin(), each.events.end(),
                                      [](const awaited_event& candidate) { return !candidate.watched; });
      if (found != each.events.end() && (oldest == nullptr || found->number < oldest->number)) oldest = &*found;
    }
    return oldest;
  }

  [[nodiscard]] awaited_event* find(std::uint64_t number) {
    for (lane& each : lanes_)
      for (awaited_event& candidate : each.events)
        if (candidate.number == number) return &candidate;
    return nullptr;
  }

  void erase(std::uint64_t number) {
    for (lane& each : lanes_)
      size_ -= std::erase_if(each.events, [&](const awaited_event& candidate) { return candidate.number == number; });
  }

 private:
  struct lane {
    cudaStream_t stream;
    std::deque<awaited_event> events;
  };

  /// Lanes that have run empty are used again, with the memory that they have.
  lane& lane_of(cudaStream_t stream) {
    lane* spare = nullptr;
    for (lane& each : lanes_) {
      if (stream != nullptr && each.stream == stream) return each;
      if (each.events.empty()) spare = &each;
    }
    if (spare == nullptr) return lanes_.emplace_back(lane{stream, {}});
    spare->stream = stream;
    return *spare;
  }

  std::vector<lane> lanes_;
  std::size_t size_ = 0;
};

}  // namespace detail
}  // namespace weft::coro::cuda
