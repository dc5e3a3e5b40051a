// SPDX-License-Identifier: Apache-2.0
#include "device/memory_pool.hpp"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <numeric>

namespace weft::detail {

memory_pool::memory_pool(std::byte* begin, std::size_t bytes) : begin_(begin), bytes_(bytes) {
  if (bytes != 0) free_.emplace(0, bytes);
}

std::byte* memory_pool::take(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes > bytes_) return nullptr;
  const std::size_t size = rounded(bytes);
  const auto fits = [size](const auto& part) { return part.second >= size; };
  const auto found = std::find_if(free_.begin(), free_.end(), fits);
  if (found == free_.end()) return nullptr;
  const auto [offset, whole] = *found;
  free_.erase(found);
  if (whole > size) free_.emplace(offset + size, whole - size);
  used_.emplace(offset, size);
  return begin_ + offset;
}

void memory_pool::give_back(std::byte* part) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = used_.find(static_cast<std::size_t>(part - begin_));
  assert(found != used_.end() && "this part is not out");
  auto [offset, size] = *found;
  used_.erase(found);
  auto next = free_.lower_bound(offset);
  if (next != free_.end() && next->first == offset + size) {
    size += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto previous = std::prev(next);
    if (previous->first + previous->second == offset) {
      previous->second += size;
      return;
    }
  }
  free_.emplace_hint(next, offset, size);
}

std::size_t memory_pool::used() const {
  const std::lock_guard lock(mutex_);
  return std::accumulate(used_.begin(), used_.end(), std::size_t{0},
                         [](std::size_t sum, const auto& part) { return sum + part.second; });
}

}  // namespace weft::detail
