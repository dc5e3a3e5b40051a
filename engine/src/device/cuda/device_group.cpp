// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/device_group.hpp"

#include <utility>

namespace weft::detail {

bool device_group::place(part& one, pinned_memory& pinned, device_memory& device, std::byte* nothing) {
  const auto& [pieces, kind] = one.transfer.memory;
  if (one.transfer.bytes == 0) {
    one.memory = nothing;
  } else if (kind != memory_kind::host && pieces.size() == 1) {
    one.memory = pieces.front().data;
  } else if (kind == memory_kind::device) {
    one.memory = one.together = device.take(one.transfer.bytes);
  } else {
    one.memory = one.pinned = pinned.take(one.transfer.bytes);
  }
  return one.memory != nullptr;
}

std::size_t device_group::find_memory(pinned_memory& pinned, device_memory& device, std::byte* nothing) {
  for (part& one : parts_) {
    if (place(one, pinned, device, nothing)) continue;
    give_back(pinned, device);
    return one.transfer.bytes;
  }
  return 0;
}

void device_group::fill(cudaStream_t stream) const {
  for (const part& one : parts_) {
    if (!one.transfer.sending) continue;
    memory_cursor from(one.transfer.memory.pieces);
    if (one.pinned != nullptr) from.read(one.pinned, one.transfer.bytes);
    if (one.together == nullptr) continue;
    std::byte* to = one.together;
    for (const memory_piece& piece : one.transfer.memory.pieces) {
      demand(cudaMemcpyAsync(to, piece.data, piece.size, cudaMemcpyDeviceToDevice, stream), "cudaMemcpyAsync");
      to += piece.size;
    }
  }
}

void device_group::take_apart(cudaStream_t stream) const {
  for (const part& one : parts_) {
    if (one.transfer.sending || one.together == nullptr) continue;
    const std::byte* from = one.together;
    for (const memory_piece& piece : one.transfer.memory.pieces) {
      demand(cudaMemcpyAsync(piece.data, from, piece.size, cudaMemcpyDeviceToDevice, stream), "cudaMemcpyAsync");
      from += piece.size;
    }
  }
}

void device_group::deliver() const {
  for (const part& one : parts_)
    if (!one.transfer.sending && one.pinned != nullptr)
      memory_cursor(one.transfer.memory.pieces).write(one.pinned, one.transfer.bytes);
}

void device_group::lose_memory() {
  event = nullptr;
  for (part& one : parts_) one.pinned = one.together = nullptr;
}

void device_group::give_back(pinned_memory& pinned, device_memory& device) {
  for (part& one : parts_) {
    if (one.pinned != nullptr) pinned.give_back(std::exchange(one.pinned, nullptr));
    if (one.together != nullptr) device.give_back(std::exchange(one.together, nullptr));
    one.memory = nullptr;
  }
}

}  // namespace weft::detail
