// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cuda_model {

inline constexpr int no_device = -1;

/// An ncclSend or ncclRecv that waits for the end of its group.
struct grouped_operation {
  bool sending = false;
  int peer = 0;
  void* memory = nullptr;
  std::size_t bytes = 0;
  ncclDataType_t type = ncclInt8;
  ncclComm_t communicator = nullptr;
  cudaStream_t stream = nullptr;
};

/// What CUDA and NCCL keep per thread.
struct thread_state {
  thread_state() = default;
  thread_state(const thread_state&) = delete;
  thread_state& operator=(const thread_state&) = delete;
  ~thread_state();  // a thread that ends within a group breaks a rule

  std::uint64_t world = 0;  ///< the world that the rest belongs to
  int device = no_device;
  cudaError_t last_error = cudaSuccess;
  bool in_host_function = false;
  int group_depth = 0;
  ncclResult_t group_error = ncclSuccess;
  std::vector<grouped_operation> operations;
};

/// That of the calling thread, emptied if it is of an earlier world.
thread_state& this_thread(std::uint64_t world);

}  // namespace cuda_model
