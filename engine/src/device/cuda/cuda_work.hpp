// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/cuda/event_pool.hpp"
#include "device/device.hpp"

#include <weft/coro/cuda/event_lanes.hpp>

#include <atomic>
#include <cstddef>
#include <mutex>

namespace weft::detail {

/// Work on a GPU's streams that operations wait for. It is watched by whoever starts an operation, and looked at by the
/// launch thread; the lock is held while CUDA is asked, so that an event of the caller's is not touched once its
/// operation has ended.
class cuda_work final : public work_watch {
 public:
  explicit cuda_work(int ordinal) : ordinal_(ordinal) {}

  [[nodiscard]] boost::system::error_code watch(std::uint64_t name, const device_work& work) override;
  void forget(std::uint64_t name) noexcept override;

  [[nodiscard]] bool empty() const noexcept { return watched_ == 0; }
  /// Calls `done(name, code)` for what is over. Whether anything was.
  template <class Done>
  bool collect(Done done) {
    const std::lock_guard lock(mutex_);
    const std::size_t before = watched_;
    lanes_.collect([&](const coro::cuda::detail::awaited_event& over, cudaError_t code) {
      let_go(over);
      done(over.number, code_of(code));
    });
    return watched_ != before;
  }

 private:
  [[nodiscard]] cudaError_t record(cudaStream_t stream, cudaEvent_t& event);
  void let_go(const coro::cuda::detail::awaited_event& over);

  int ordinal_;
  std::mutex mutex_;
  coro::cuda::detail::event_lanes lanes_;
  event_pool pool_;
  std::atomic<std::size_t> watched_ = 0;
};

}  // namespace weft::detail
