// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/cuda/cuda_copies.hpp"
#include "device/cuda/event_pool.hpp"
#include "device/device.hpp"

#include <weft/coro/cuda/event_lanes.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace weft::detail {

/// Work on a GPU's streams that operations wait for, and copies between its memory and the host's. Given by whoever
/// starts an operation, and gone on with by the launch thread; the lock is held while CUDA is asked, so that nothing of
/// the caller's is touched once its operation has ended.
class cuda_chores final : public device_chores {
 public:
  /// The calling thread has chosen the device, of that ordinal.
  cuda_chores(int ordinal, std::size_t chunk_bytes) : ordinal_(ordinal), copies_(chunk_bytes) {}

  [[nodiscard]] boost::system::error_code watch(std::uint64_t name, const device_work& work) override;
  void copy(std::uint64_t name, bool to_host, std::vector<memory_piece> device,
            std::vector<memory_piece> host) override;
  [[nodiscard]] bool forget(std::uint64_t name, std::uint64_t last_name) override;
  void come_to_rest() noexcept override;

  [[nodiscard]] bool empty() const noexcept { return empty_; }

  /// Goes on, and calls `done(name, code)` for what is over. Whether anything was.
  template <class Done>
  bool advance(Done done) {
    if (empty()) return false;
    const std::lock_guard lock(mutex_);
    bool any = false;
    watched_.collect([&](const coro::cuda::detail::awaited_event& over, cudaError_t code) {
      if (over.pooled) pool_.give_back(over.event);
      done(over.number, code_of(code));
      any = true;
    });
    while (const auto over = copies_.advance()) {
      done(over->first, code_of(over->second));
      any = true;
    }
    note_emptiness();
    return any;
  }

 private:
  [[nodiscard]] cudaError_t record(cudaStream_t stream, cudaEvent_t& event);
  void note_emptiness() { empty_ = watched_.empty() && copies_.empty(); }

  int ordinal_;
  std::mutex mutex_;
  coro::cuda::detail::event_lanes watched_;
  event_pool pool_;
  cuda_copies copies_;
  std::atomic<bool> empty_ = true;  ///< for the launch thread, which looks at it all the time
};

}  // namespace weft::detail
