// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <vector>

namespace cuda_model {

/// What fresh memory holds, and what a receive has before it is complete.
inline constexpr std::byte poison{0xDB};

/// The memory of one device, at two places: where the program sees it there is nothing, and every access by the CPU is
/// a fault; the model works at the other.
class device_memory {
 public:
  explicit device_memory(std::size_t bytes);
  device_memory(const device_memory&) = delete;
  device_memory& operator=(const device_memory&) = delete;
  ~device_memory();

  /// Null where there is no room.
  [[nodiscard]] void* allocate(std::size_t bytes);
  /// False where nothing was allocated there.
  bool free(void* start);

  [[nodiscard]] bool covers(const void* at) const noexcept;
  /// Where the model reaches `bytes` from `at` on; null unless they lie in one allocation.
  [[nodiscard]] std::byte* view(const void* at, std::size_t bytes) const;
  [[nodiscard]] std::size_t size_of(const void* start) const;
  [[nodiscard]] std::size_t allocation_count() const noexcept { return allocations_.size(); }

 private:
  std::size_t bytes_;
  std::byte* shown_;
  std::byte* own_;
  std::map<std::size_t, std::size_t> allocations_;  // by offset
};

/// Page-locked host memory: ordinary memory that is known.
class pinned_memory {
 public:
  [[nodiscard]] void* allocate(std::size_t bytes);
  /// False where nothing was allocated there. Memory that is still in use by the model is kept until the end.
  bool free(void* start, bool in_use);

  [[nodiscard]] std::byte* view(const void* at, std::size_t bytes) const;
  [[nodiscard]] std::size_t size_of(const void* start) const;
  [[nodiscard]] std::size_t allocation_count() const noexcept { return allocations_.size(); }

 private:
  struct freer {
    void operator()(void* memory) const noexcept { std::free(memory); }
  };
  struct allocation {
    std::size_t bytes;
    std::unique_ptr<void, freer> memory;
  };
  std::map<std::uintptr_t, allocation> allocations_;
  std::vector<allocation> graveyard_;
};

}  // namespace cuda_model
