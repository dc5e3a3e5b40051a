// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/nccl_communicator.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace weft::detail {

// Not the default stream, and none that waits for it: NCCL's kernels and it would wait for each other
// (NVIDIA/nccl#217).
nccl_communicator::nccl_communicator(std::span<const int> members, int self)
    : members_(members.begin(), members.end()), self_(self) {
  demand(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
}

// A stream that is not at rest is left to CUDA.
nccl_communicator::~nccl_communicator() {
  if (stream_ != nullptr && is_at_rest()) (void)cudaStreamDestroy(stream_);
}

int nccl_communicator::index_of(int rank) const noexcept {
  const auto found = std::find(members_.begin(), members_.end(), rank);
  return found == members_.end() ? -1 : static_cast<int>(found - members_.begin());
}

// Only a communicator that does not block can be given a deadline (NVIDIA/nccl#289, #1677).
ncclResult_t nccl_communicator::begin_creation(const unique_id& id, int most_ctas) {
  ncclUniqueId name;
  static_assert(sizeof name == std::tuple_size_v<unique_id>);
  std::memcpy(&name, id.data(), sizeof name);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  if (most_ctas > 0) {
    config.minCTAs = 1;
    config.maxCTAs = most_ctas;
  }
  return ncclCommInitRankConfig(&handle_, static_cast<int>(members_.size()), name, index_of(self_), &config);
}

ncclResult_t nccl_communicator::state() const {
  ncclResult_t now = ncclSuccess;
  const ncclResult_t asked = ncclCommGetAsyncError(handle_, &now);
  return asked == ncclSuccess ? now : asked;
}

ncclResult_t nccl_communicator::send(const std::byte* memory, std::size_t bytes, int peer) const {
  return ncclSend(memory, bytes, ncclUint8, index_of(peer), handle_, stream_);
}

ncclResult_t nccl_communicator::receive(std::byte* memory, std::size_t bytes, int peer) const {
  return ncclRecv(memory, bytes, ncclUint8, index_of(peer), handle_, stream_);
}

ncclResult_t nccl_communicator::destroy() {
  return ncclCommDestroy(std::exchange(handle_, nullptr));
}

ncclComm_t nccl_communicator::release() noexcept {
  return std::exchange(handle_, nullptr);
}

}  // namespace weft::detail
