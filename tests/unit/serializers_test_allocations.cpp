// SPDX-License-Identifier: Apache-2.0
#include "serializers_test_allocations.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<std::size_t> largest = 0;
std::atomic<std::size_t> count = 0;

void note(std::size_t size) noexcept {
  largest = std::max(largest.load(), size);
  ++count;
}
}  // namespace

void forget_allocations() noexcept {
  largest = count = 0;
}
std::size_t largest_allocation() noexcept {
  return largest;
}
std::size_t allocation_count() noexcept {
  return count;
}

void* operator new(std::size_t size) {
  note(size);
  if (void* const memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
// What std::stable_sort asks for: one that is not replaced would not go with the delete that is.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  note(size);
  return std::malloc(size);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
