// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_model/world.hpp>

#include <cuda_runtime_api.h>
#include <doctest/doctest.h>
#include <nccl.h>

#include <barrier>
#include <cstddef>
#include <initializer_list>
#include <vector>

/// What tests of the strict model and over it share.
namespace cuda_model_test {

inline ncclUniqueId new_id() {
  ncclUniqueId id;
  REQUIRE(ncclGetUniqueId(&id) == ncclSuccess);
  return id;
}

inline std::vector<std::byte> bytes_of(std::size_t count, int seed) {
  std::vector<std::byte> made(count);
  for (std::size_t i = 0; i < count; ++i) made[i] = static_cast<std::byte>(static_cast<int>(i * 7) + seed);
  return made;
}

inline cudaStream_t new_stream() {
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
  return stream;
}

inline cudaEvent_t new_event() {
  cudaEvent_t event = nullptr;
  REQUIRE(cudaEventCreateWithFlags(&event, cudaEventDisableTiming) == cudaSuccess);
  return event;
}

inline std::byte* device_memory(std::size_t bytes) {
  void* memory = nullptr;
  REQUIRE(cudaMalloc(&memory, bytes) == cudaSuccess);
  return static_cast<std::byte*>(memory);
}

inline std::byte* pinned_memory(std::size_t bytes) {
  void* memory = nullptr;
  REQUIRE(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable) == cudaSuccess);
  return static_cast<std::byte*>(memory);
}

/// One end of an operation.
struct part {
  bool sending;
  std::byte* memory;
  std::size_t bytes;
  int peer;
};
inline part to(int peer, std::byte* memory, std::size_t bytes) {
  return {true, memory, bytes, peer};
}
inline part from(int peer, std::byte* memory, std::size_t bytes) {
  return {false, memory, bytes, peer};
}

/// One rank on one communicator, with a stream for it.
class member {
 public:
  enum class mode { blocking, polled };

  member(const ncclUniqueId& id, int size, int rank, mode how = mode::blocking) : stream_(new_stream()) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = how == mode::blocking ? 1 : 0;
    created_ = ncclCommInitRankConfig(&communicator_, size, id, rank, &config);
  }

  [[nodiscard]] ncclResult_t created() const { return created_; }
  [[nodiscard]] ncclComm_t communicator() const { return communicator_; }
  [[nodiscard]] cudaStream_t stream() const { return stream_; }

  ncclResult_t one(const part& each) const {
    return each.sending ? ncclSend(each.memory, each.bytes, ncclChar, each.peer, communicator_, stream_)
                        : ncclRecv(each.memory, each.bytes, ncclChar, each.peer, communicator_, stream_);
  }
  ncclResult_t group(const std::vector<part>& parts) const {
    ncclGroupStart();
    for (const part& each : parts) one(each);
    return ncclGroupEnd();
  }

  [[nodiscard]] ncclResult_t poll() const {
    ncclResult_t code = ncclInternalError;
    return ncclCommGetAsyncError(communicator_, &code) == ncclSuccess ? code : ncclInternalError;
  }
  [[nodiscard]] ncclResult_t settle() const {
    ncclResult_t code = ncclInProgress;
    while (code == ncclInProgress) code = poll();
    return code;
  }
  cudaError_t synchronize() const { return cudaStreamSynchronize(stream_); }

  void destroy() const {
    CHECK(synchronize() == cudaSuccess);
    CHECK(ncclCommDestroy(communicator_) == ncclSuccess);
    CHECK(cudaStreamDestroy(stream_) == cudaSuccess);
  }

 private:
  cudaStream_t stream_;
  ncclComm_t communicator_ = nullptr;
  ncclResult_t created_;
};

}  // namespace cuda_model_test
