// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/cuda_memory.hpp"

#include "device/cuda/cuda_result.hpp"

#include <algorithm>

namespace weft::detail {

cuda_memory::cuda_memory(int ordinal, std::size_t bytes) : ordinal_(ordinal) {
  if (bytes != 0) {
    void* base = nullptr;
    demand(cudaMalloc(&base, bytes), "cudaMalloc");
    base_ = static_cast<std::byte*>(base);
  }
  pool_.emplace(base_, bytes);
}

// From whichever thread lets go of the last buffer.
cuda_memory::~cuda_memory() {
  int before = 0;
  if (base_ == nullptr || cudaGetDevice(&before) != cudaSuccess) return;
  (void)cudaSetDevice(ordinal_);
  (void)cudaFree(base_);
  (void)cudaSetDevice(before);
}

pinned_memory::~pinned_memory() {
  for (const arena& one : arenas_) (void)cudaFreeHost(one.base);
}

std::byte* pinned_memory::take(std::size_t bytes) {
  for (const arena& one : arenas_)
    if (std::byte* part = one.pool->take(bytes)) return part;
  return nullptr;
}

void pinned_memory::give_back(std::byte* part) noexcept {
  const auto owner =
      std::find_if(arenas_.begin(), arenas_.end(), [=](const arena& one) { return one.pool->owns(part); });
  owner->pool->give_back(part);
}

void pinned_memory::grow(std::size_t bytes) {
  const std::size_t whole = memory_pool::rounded(bytes);
  void* base = nullptr;
  demand(cudaHostAlloc(&base, whole, cudaHostAllocDefault), "cudaHostAlloc");
  auto* begin = static_cast<std::byte*>(base);
  arenas_.push_back({begin, std::make_unique<memory_pool>(begin, whole)});
}

}  // namespace weft::detail
