// SPDX-License-Identifier: Apache-2.0
#include "cuda_model/memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <system_error>
#include <utility>

namespace cuda_model {
namespace {

// Allocations start on pages of their own, so that no two of them touch.
constexpr std::size_t granularity = 4096;

std::size_t rounded_up(std::size_t bytes) {
  return (bytes + granularity - 1) / granularity * granularity;
}

void* demand(void* mapped) {
  if (mapped == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "cuda_model: mmap");
  return mapped;
}

std::byte* reserve(std::size_t bytes) {
  return static_cast<std::byte*>(
      demand(::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)));
}

void fill(std::byte* memory, std::size_t bytes) {
  std::memset(memory, std::to_integer<int>(poison), bytes);
}

/// A file of poison. Mapped by devices, so that theirs are pages of their own only once somebody writes to them:
/// writing poison to the pools of a few engines takes longer than most tests of engines.
class poison_file {
 public:
  static constexpr std::size_t bytes = std::size_t{4} << 20;

  poison_file() {
    file_ = ::memfd_create("cuda_model", MFD_CLOEXEC);
    if (file_ < 0) throw std::system_error(errno, std::generic_category(), "cuda_model: memfd_create");
    if (::ftruncate(file_, static_cast<off_t>(bytes)) != 0)
      throw std::system_error(errno, std::generic_category(), "cuda_model: ftruncate");
    void* all = demand(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0));
    fill(static_cast<std::byte*>(all), bytes);
    ::munmap(all, bytes);
  }

  /// Whole pages.
  void map_over(std::byte* memory, std::size_t size) const {
    for (std::size_t done = 0; done < size; done += bytes)
      (void)demand(::mmap(memory + done, std::min(bytes, size - done), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, file_, 0));
  }

 private:
  int file_;  // until the end of the process
};

void poison_pages(std::byte* memory, std::size_t size) {
  static const poison_file all;
  all.map_over(memory, size);
}

}  // namespace

device_memory::device_memory(std::size_t bytes)
    : bytes_(rounded_up(bytes)), shown_(reserve(bytes_)), own_(reserve(bytes_)) {}

device_memory::~device_memory() {
  ::munmap(own_, bytes_);
  ::munmap(shown_, bytes_);
}

void* device_memory::allocate(std::size_t bytes) {
  // First fit, with a page in between that belongs to nobody.
  std::size_t offset = 0;
  for (const auto& [start, size] : allocations_) {
    if (start - offset >= rounded_up(bytes) + granularity) break;
    offset = start + rounded_up(size) + granularity;
  }
  if (offset > bytes_ || bytes_ - offset < rounded_up(bytes)) return nullptr;
  allocations_.emplace(offset, bytes);
  poison_pages(own_ + offset, rounded_up(bytes));
  return shown_ + offset;
}

bool device_memory::free(void* start) {
  if (!covers(start)) return false;
  const auto found = allocations_.find(static_cast<std::size_t>(static_cast<std::byte*>(start) - shown_));
  if (found == allocations_.end()) return false;
  poison_pages(own_ + found->first, rounded_up(found->second));
  allocations_.erase(found);
  return true;
}

bool device_memory::covers(const void* at) const noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  const auto first = reinterpret_cast<std::uintptr_t>(shown_);
  return address >= first && address - first < bytes_;
}

std::byte* device_memory::view(const void* at, std::size_t bytes) const {
  if (!covers(at)) return nullptr;
  const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(at) - shown_);
  auto next = allocations_.upper_bound(offset);
  if (next == allocations_.begin()) return nullptr;
  const auto [start, size] = *--next;
  return offset - start <= size && size - (offset - start) >= bytes ? own_ + offset : nullptr;
}

std::size_t device_memory::size_of(const void* start) const {
  if (!covers(start)) return 0;
  const auto found = allocations_.find(static_cast<std::size_t>(static_cast<const std::byte*>(start) - shown_));
  return found == allocations_.end() ? 0 : found->second;
}

void* pinned_memory::allocate(std::size_t bytes) {
  allocation made{bytes, {}};
  made.memory.reset(std::aligned_alloc(granularity, rounded_up(bytes)));
  void* start = made.memory.get();
  if (start == nullptr) return nullptr;
  fill(static_cast<std::byte*>(start), bytes);
  allocations_.emplace(reinterpret_cast<std::uintptr_t>(start), std::move(made));
  return start;
}

bool pinned_memory::free(void* start, bool in_use) {
  const auto found = allocations_.find(reinterpret_cast<std::uintptr_t>(start));
  if (found == allocations_.end()) return false;
  if (in_use) graveyard_.push_back(std::move(found->second));
  allocations_.erase(found);
  return true;
}

std::byte* pinned_memory::view(const void* at, std::size_t bytes) const {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  auto next = allocations_.upper_bound(address);
  if (next == allocations_.begin()) return nullptr;
  const auto& [start, found] = *--next;
  const std::size_t offset = address - start;
  const bool inside = offset <= found.bytes && found.bytes - offset >= bytes;
  return inside ? static_cast<std::byte*>(found.memory.get()) + offset : nullptr;
}

std::size_t pinned_memory::size_of(const void* start) const {
  const auto found = allocations_.find(reinterpret_cast<std::uintptr_t>(start));
  return found == allocations_.end() ? 0 : found->second.bytes;
}

}  // namespace cuda_model
