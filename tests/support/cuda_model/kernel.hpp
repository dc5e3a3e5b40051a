// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda_model/stream.hpp"

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace cuda_model {

struct communicator;
struct state;

/// One operation of a group.
struct transfer {
  bool sending = false;
  int peer = 0;
  void* memory = nullptr;
  std::size_t bytes = 0;
  ncclDataType_t type = ncclInt8;
  bool guarded = false;            ///< its memory is being watched
  std::uint64_t checksum = 0;      ///< of what a send had when it was guarded
  std::vector<std::byte> arrived;  ///< a receive's data, until the whole group is complete
};

enum class kernel_stage { launching, queued, resident, finished };

/// A launched group: it ends as a whole, after every partner has launched its mirror image.
struct kernel {
  communicator* owner = nullptr;
  int device = 0;
  std::uint64_t order = 0;  ///< of its launch
  kernel_stage stage = kernel_stage::launching;
  std::vector<transfer> transfers;
  std::vector<cudaStream_t> streams;                ///< each once
  std::map<int, std::shared_ptr<kernel>> partners;  ///< by peer; null until it has launched
  std::map<int, bool> exchanged;                    ///< by peer: the bytes have moved
};

[[nodiscard]] std::string describe(const kernel& one);

/// Watches the memory of transfers whose memory nothing before them on their streams uses; the rest when it starts.
void guard_early(state& world, kernel& one);
void guard_all(state& world, kernel& one);

/// Refuses partners that do not mirror each other. Both are linked to each other.
void check_mirrored(state& world, const kernel& one, const kernel& other);

/// Moves the bytes between two resident kernels.
void exchange(state& world, kernel& one, kernel& other);

/// The kernel ends. Without `delivered`, its receives keep poison.
void finish(state& world, const std::shared_ptr<kernel>& one, bool delivered);

/// A rule was broken between ranks: all that these communicators do ends, and they report an error from now on.
void spoil(state& world, communicator& one);

}  // namespace cuda_model
