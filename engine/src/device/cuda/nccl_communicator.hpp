// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/cuda/cuda_result.hpp"
#include "device/device.hpp"

#include <span>
#include <vector>

namespace weft::detail {

/// One group of NCCL calls on this thread. Closed whatever happens: a group that stays open swallows all later ones.
class nccl_group {
 public:
  nccl_group() : start_(ncclGroupStart()) {}
  nccl_group(const nccl_group&) = delete;
  nccl_group& operator=(const nccl_group&) = delete;
  ~nccl_group() {
    if (start_ == ncclSuccess && !ended_) (void)ncclGroupEnd();
  }

  /// `ncclInProgress` is no failure: the communicator says when it is over.
  [[nodiscard]] ncclResult_t end() {
    ended_ = true;
    return start_ == ncclSuccess ? ncclGroupEnd() : start_;
  }

 private:
  ncclResult_t start_;
  bool ended_ = false;
};

/// One of NCCL's communicators, which never blocks, with the stream that its groups run on.
///
/// While a call is in progress (creation, the end of a group, finalizing) no other call on the same device may be made;
/// `state` says when it is over.
class nccl_communicator {
 public:
  /// Makes the stream; throws where CUDA refuses it.
  nccl_communicator(std::span<const int> members, int self);
  nccl_communicator(const nccl_communicator&) = delete;
  nccl_communicator& operator=(const nccl_communicator&) = delete;
  /// NCCL's part has been destroyed or aborted before, and the stream has come to rest.
  ~nccl_communicator();

  /// `most_ctas`: thread blocks that it may take of the device; 0: NCCL's choice.
  [[nodiscard]] ncclResult_t begin_creation(const unique_id& id, int most_ctas);
  [[nodiscard]] ncclResult_t state() const;
  [[nodiscard]] ncclResult_t send(const std::byte* memory, std::size_t bytes, int peer) const;
  [[nodiscard]] ncclResult_t receive(std::byte* memory, std::size_t bytes, int peer) const;
  [[nodiscard]] ncclResult_t begin_finalizing() const { return ncclCommFinalize(handle_); }
  [[nodiscard]] ncclResult_t destroy();
  /// For someone else to abort it.
  [[nodiscard]] ncclComm_t release() noexcept;

  [[nodiscard]] bool has(int rank) const noexcept { return index_of(rank) >= 0; }
  [[nodiscard]] cudaStream_t stream() const noexcept { return stream_; }
  /// Nothing runs on the stream.
  [[nodiscard]] bool is_at_rest() const { return cudaStreamQuery(stream_) != cudaErrorNotReady; }

 private:
  [[nodiscard]] int index_of(int rank) const noexcept;

  std::vector<int> members_;
  int self_;
  cudaStream_t stream_ = nullptr;
  ncclComm_t handle_ = nullptr;
};

}  // namespace weft::detail
