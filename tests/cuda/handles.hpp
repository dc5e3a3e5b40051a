// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

/// What the programs on a GPU have in common: things of CUDA's and NCCL's, with owners.
namespace weft::gpu {

inline void demand(cudaError_t code, const char* call) {
  if (code != cudaSuccess)
    throw std::runtime_error(std::string(call) + ": " + cudaGetErrorName(code) + ", " + cudaGetErrorString(code));
}
inline void demand(ncclResult_t code, const char* call) {
  if (code != ncclSuccess) throw std::runtime_error(std::string(call) + ": " + ncclGetErrorString(code));
}

struct destroy {
  void operator()(cudaStream_t stream) const noexcept { (void)cudaStreamDestroy(stream); }
  void operator()(cudaEvent_t event) const noexcept { (void)cudaEventDestroy(event); }
};
struct free_device {
  void operator()(std::byte* memory) const noexcept { (void)cudaFree(memory); }
};
struct free_pinned {
  void operator()(std::byte* memory) const noexcept { (void)cudaFreeHost(memory); }
};
using owned_stream = std::unique_ptr<std::remove_pointer_t<cudaStream_t>, destroy>;
using owned_event = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, destroy>;
using device_memory = std::unique_ptr<std::byte[], free_device>;
using pinned_memory = std::unique_ptr<std::byte[], free_pinned>;

inline owned_stream new_stream() {
  cudaStream_t stream = nullptr;
  demand(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  return owned_stream(stream);
}
inline owned_event new_event() {
  cudaEvent_t event = nullptr;
  demand(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  return owned_event(event);
}
inline device_memory new_device_memory(std::size_t bytes) {
  void* memory = nullptr;
  demand(cudaMalloc(&memory, bytes), "cudaMalloc");
  return device_memory(static_cast<std::byte*>(memory));
}
inline pinned_memory new_pinned_memory(std::size_t bytes) {
  void* memory = nullptr;
  demand(cudaHostAlloc(&memory, bytes, cudaHostAllocDefault), "cudaHostAlloc");
  return pinned_memory(static_cast<std::byte*>(memory));
}

/// Holds a stream still, from where it stands, until it is opened.
class gate {
 public:
  explicit gate(cudaStream_t on) : on_(on) {
    demand(cudaLaunchHostFunc(
               on, [](void* self) { static_cast<gate*>(self)->open_.wait(false); }, this),
           "cudaLaunchHostFunc");
  }
  gate(const gate&) = delete;
  gate& operator=(const gate&) = delete;
  ~gate() {
    open();
    if (opener_.joinable()) opener_.join();
    (void)cudaStreamSynchronize(on_);  // the function is over
  }

  void open() {
    open_ = true;
    open_.notify_all();
  }
  /// For calls that may wait for the stream.
  void open_after(std::chrono::milliseconds pause) {
    opener_ = std::thread([this, pause] {
      std::this_thread::sleep_for(pause);
      open();
    });
  }
  [[nodiscard]] bool is_open() const noexcept { return open_; }

 private:
  cudaStream_t on_;
  std::atomic<bool> open_ = false;
  std::thread opener_;
};

/// The only rank of a communicator of its own.
class lone_communicator {
 public:
  enum class mode { blocking, polled };

  explicit lone_communicator(mode how) : lone_communicator(how, 0) {}
  lone_communicator(mode how, int rank) {
    ncclUniqueId id;
    demand(ncclGetUniqueId(&id), "ncclGetUniqueId");
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = how == mode::blocking ? 1 : 0;
    created_ = ncclCommInitRankConfig(&handle_, 1, id, rank, &config);
  }
  lone_communicator(const lone_communicator&) = delete;
  lone_communicator& operator=(const lone_communicator&) = delete;
  /// What nobody has destroyed may hold an error.
  ~lone_communicator() {
    if (handle_ != nullptr) (void)ncclCommAbort(handle_);
  }

  [[nodiscard]] ncclResult_t created() const noexcept { return created_; }
  [[nodiscard]] ncclComm_t handle() const noexcept { return handle_; }

  [[nodiscard]] ncclResult_t poll() const {
    ncclResult_t now = ncclInternalError;
    const ncclResult_t asked = ncclCommGetAsyncError(handle_, &now);
    return asked == ncclSuccess ? now : asked;
  }
  /// What the call in progress comes to.
  [[nodiscard]] ncclResult_t settle() const {
    ncclResult_t now = poll();
    for (; now == ncclInProgress; now = poll()) std::this_thread::yield();
    return now;
  }

  ncclResult_t send(const std::byte* memory, std::size_t bytes, cudaStream_t on, int peer = 0) const {
    return ncclSend(memory, bytes, ncclUint8, peer, handle_, on);
  }
  ncclResult_t receive(std::byte* memory, std::size_t bytes, cudaStream_t on) const {
    return ncclRecv(memory, bytes, ncclUint8, 0, handle_, on);
  }

  ncclResult_t end_by_destroy() { return ncclCommDestroy(std::exchange(handle_, nullptr)); }
  ncclResult_t end_by_abort() { return ncclCommAbort(std::exchange(handle_, nullptr)); }

 private:
  ncclComm_t handle_ = nullptr;
  ncclResult_t created_ = ncclInternalError;
};

/// Bytes that tell their place.
inline std::vector<std::byte> pattern(std::size_t count) {
  std::vector<std::byte> made(count);
  for (std::size_t i = 0; i < count; ++i) made[i] = static_cast<std::byte>(i % 251);
  return made;
}

}  // namespace weft::gpu
