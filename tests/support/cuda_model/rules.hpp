// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace cuda_model {

/// What a program must not do, and where that is written.
struct rule {
  std::string_view text;
  std::string_view source;
};

/// A rule that was broken, by whom and how.
struct violation {
  const rule* broken;
  int rank;
  std::string detail;
};

[[nodiscard]] std::string describe(const violation& one);

namespace rules {

// Matching and groups
inline constexpr rule mirrored_groups{"the groups of two ranks mirror each other, operation by operation",
                                      "NVIDIA/nccl#1279, NVIDIA/nccl#2130"};
inline constexpr rule grouped_exchange{"ranks that send to each other do so within a group",
                                       "NVIDIA/nccl#479, NVIDIA/nccl#783"};
inline constexpr rule equal_sizes{"a send and its receive have the same size and element type", "NVIDIA/nccl#1938"};
inline constexpr rule self_exchange{"a send to oneself and its receive are in one group", "NCCL user guide, groups"};
inline constexpr rule narrow_groups{
    "a group has at most 8 peers and one operation per peer and direction, or it may be cut differently on each rank",
    "pytorch/pytorch#174288, NVIDIA/Megatron-LM#7189"};
inline constexpr rule one_communicator{"a group fails as a whole, so it holds operations of one communicator",
                                       "NCCL user guide, groups"};
inline constexpr rule closed_groups{"a group is closed by the thread that opened it", "NCCL user guide, groups"};
inline constexpr rule one_group_at_a_time{"a group is finished before another is started on the same device",
                                          "NCCL user guide, non-blocking communicators"};

// Threads and progress
inline constexpr rule one_thread_per_device{"one thread makes the NCCL calls of a device",
                                            "NCCL user guide, thread safety"};
inline constexpr rule handed_over_at_rest{
    "a device changes hands only at rest: kernels of two callers are launched in another order on each rank",
    "NCCL user guide, groups and several communicators"};
inline constexpr rule ready_communicator{"no call is made on a communicator that is in progress",
                                         "NCCL user guide, non-blocking communicators"};
inline constexpr rule record_after_success{
    "a stream is recorded, queried or synchronized only after the group on it has succeeded: before, it reads as done",
    "NCCL user guide, non-blocking communicators"};
inline constexpr rule progress{"every call and kernel can make progress", "NVIDIA/nccl#1025, NCCL user guide, groups"};
inline constexpr rule residency{"no more communicators are at work on a device than fit",
                                "NCCL user guide, groups and several communicators"};

// Communicators
inline constexpr rule unique_devices{"each rank of a communicator has a device of its own", "NCCL init.cc, 2.28"};
inline constexpr rule fresh_ids{"a unique id makes one communicator, once per rank, of one size", "nccl.h, 2.28"};
inline constexpr rule finalize_after_revoke{"a revoked communicator is neither finalized nor used for transfers",
                                            "nccl.h, 2.28, ncclCommRevoke"};
inline constexpr rule abort_after_error{"a communicator with an asynchronous error is aborted, not destroyed",
                                        "NCCL user guide, fault tolerance"};

// Memory
inline constexpr rule accessible_memory{"NCCL moves memory of its device and pinned host memory, alive and in bounds",
                                        "NCCL user guide, buffers"};
inline constexpr rule kept_memory{"memory under a transfer is not freed", "nccl.h, 2.28, ncclSend"};
inline constexpr rule untouched_memory{"memory under a transfer is left alone: not written, and not read if received",
                                       "nccl.h, 2.28, ncclSend"};
inline constexpr rule preallocated_memory{"no memory is allocated or freed beside a waiting kernel",
                                          "NVIDIA/nccl#48, NVIDIA/nccl#239"};

// CUDA
inline constexpr rule own_streams{"streams are made with cudaStreamNonBlocking; no default stream is used",
                                  "NVIDIA/nccl#217"};
inline constexpr rule chosen_device{"each thread chooses its device: a new one is on device 0, whoever created it",
                                    "CUDA runtime API, cudaSetDevice"};
inline constexpr rule live_handles{"streams, events and communicators are used while they live, on their device",
                                   "CUDA runtime API, cudaErrorInvalidResourceHandle"};
inline constexpr rule pure_host_functions{"a host function makes no CUDA call", "CUDA runtime API, cudaLaunchHostFunc"};
inline constexpr rule finished_events{"an event is destroyed after what it waits for: before, the call may hang",
                                      "pytorch/pytorch#97066"};
inline constexpr rule valid_arguments{"arguments are valid", "CUDA runtime API and nccl.h"};

}  // namespace rules
}  // namespace cuda_model
