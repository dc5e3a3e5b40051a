// SPDX-License-Identifier: Apache-2.0
#include "allocations.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::uint64_t> count = 0;

void* take(std::size_t size) noexcept {
  count.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(size);
}

// The size has to be a multiple of the alignment.
void* take_aligned(std::size_t size, std::align_val_t alignment) noexcept {
  count.fetch_add(1, std::memory_order_relaxed);
  const auto unit = static_cast<std::size_t>(alignment);
  return std::aligned_alloc(unit, std::max<std::size_t>(1, (size + unit - 1) / unit) * unit);
}

void* required(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

std::uint64_t weft::bench::allocations_so_far() noexcept {
  return count.load(std::memory_order_relaxed);
}

// Those of the whole program. What is not replaced here, the forms for arrays, calls these.
void* operator new(std::size_t size) {
  return required(take(size));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return take(size);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return required(take_aligned(size, alignment));
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return take_aligned(size, alignment);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
