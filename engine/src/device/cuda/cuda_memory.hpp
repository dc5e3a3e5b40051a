// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/device_memory.hpp"
#include "device/memory_pool.hpp"

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>

namespace weft::detail {

/// Memory of a GPU, taken from CUDA once: taking more, or giving it back, while a kernel of NCCL's waits for another
/// rank can block until that rank comes (NVIDIA/nccl#48, #239).
class cuda_memory final : public device_memory {
 public:
  /// The calling thread has chosen the device. Throws where CUDA has not so much.
  cuda_memory(int ordinal, std::size_t bytes);
  cuda_memory(const cuda_memory&) = delete;
  cuda_memory& operator=(const cuda_memory&) = delete;
  ~cuda_memory() override;

  [[nodiscard]] std::byte* take(std::size_t bytes) override { return pool_->take(bytes); }
  void give_back(std::byte* part) noexcept override { pool_->give_back(part); }

 private:
  int ordinal_;
  std::byte* base_ = nullptr;
  std::optional<memory_pool> pool_;
};

/// Pinned memory of the host, which a GPU can reach: what lies elsewhere is copied through it. Of the launch thread.
class pinned_memory {
 public:
  /// Throws where CUDA has not so much.
  explicit pinned_memory(std::size_t bytes) { grow(bytes); }
  pinned_memory(const pinned_memory&) = delete;
  pinned_memory& operator=(const pinned_memory&) = delete;
  ~pinned_memory();

  /// Null where there is not so much left.
  [[nodiscard]] std::byte* take(std::size_t bytes);
  void give_back(std::byte* part) noexcept;
  /// Room for one more part of that size. Only while nothing is under way on the device.
  void grow(std::size_t bytes);

 private:
  struct arena {
    std::byte* base;
    std::unique_ptr<memory_pool> pool;
  };
  std::deque<arena> arenas_;
};

}  // namespace weft::detail
