// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/cuda/cuda_memory.hpp"
#include "device/cuda/cuda_result.hpp"
#include "device/device.hpp"

#include <span>
#include <vector>

namespace weft::detail {

/// A group on its way through the device: which memory NCCL reads and writes for each of its transfers, and what has to
/// be copied before and after.
///
/// NCCL takes one piece of device or pinned memory for each operation. Other memory of the host is copied through
/// pinned memory, by the launch thread; a message of several pieces of device memory is put together on the device, on
/// the communicator's stream.
class device_group {
 public:
  device_group(group_id id, std::span<const device_transfer> transfers) : id_(id), parts_(transfers.size()) {
    for (std::size_t i = 0; i < transfers.size(); ++i) parts_[i].transfer = transfers[i];
  }

  [[nodiscard]] group_id id() const noexcept { return id_; }
  [[nodiscard]] std::size_t size() const noexcept { return parts_.size(); }
  [[nodiscard]] const device_transfer& transfer(std::size_t i) const noexcept { return parts_[i].transfer; }
  /// What NCCL is to send from, or to receive into.
  [[nodiscard]] std::byte* memory(std::size_t i) const noexcept { return parts_[i].memory; }

  /// Finds memory for every transfer. The size that was not to be had, or 0. All or nothing.
  [[nodiscard]] std::size_t find_memory(pinned_memory& pinned, device_memory& device, std::byte* nothing);
  /// Before NCCL: the memory of sends is filled.
  void fill(cudaStream_t stream) const;
  /// After NCCL, on the stream: messages of several pieces of device memory are taken apart.
  void take_apart(cudaStream_t stream) const;
  /// Once all that is done: host memory is filled from pinned memory.
  void deliver() const;
  void give_back(pinned_memory& pinned, device_memory& device);
  /// A kernel that does not end may touch it: it is never given back, nor is the event.
  void lose_memory();

  cudaEvent_t event = nullptr;  ///< recorded behind all of it

 private:
  struct part {
    device_transfer transfer;
    std::byte* memory = nullptr;
    std::byte* pinned = nullptr;    ///< to be given back
    std::byte* together = nullptr;  ///< memory of the device, to be given back
  };
  [[nodiscard]] static bool place(part& one, pinned_memory& pinned, device_memory& device, std::byte* nothing);

  group_id id_;
  std::vector<part> parts_;
};

}  // namespace weft::detail
