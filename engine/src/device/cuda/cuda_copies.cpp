// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/cuda_copies.hpp"

#include <algorithm>

namespace weft::detail {

cuda_copies::cuda_copies(std::size_t chunk_bytes) : chunk_bytes_(chunk_bytes) {
  void* chunk = nullptr;
  demand(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  demand(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  demand(cudaHostAlloc(&chunk, chunk_bytes, cudaHostAllocDefault), "cudaHostAlloc");
  chunk_ = static_cast<std::byte*>(chunk);
}

cuda_copies::~cuda_copies() {
  if (under_way_ != 0) (void)cudaStreamSynchronize(stream_);
  (void)cudaFreeHost(chunk_);
  (void)cudaEventDestroy(event_);
  (void)cudaStreamDestroy(stream_);
}

void cuda_copies::add(host_copy wanted) {
  jobs_.emplace_back(std::move(wanted));
}

bool cuda_copies::forget(std::uint64_t name, std::uint64_t last_name) {
  const auto found = std::find_if(jobs_.begin(), jobs_.end(), [=](const job& one) { return one.what.name == name; });
  if (found == jobs_.end()) return false;
  if (found != jobs_.begin() || !is_touching()) {
    if (found == jobs_.begin()) under_way_ = 0;
    jobs_.erase(found);
    return false;
  }
  // Only the device's memory is touched by the chunk that is under way, which becomes the last one.
  found->what.name = last_name;
  found->what.device.clear();
  found->host = {};
  return true;
}

bool cuda_copies::is_touching() const noexcept {
  return under_way_ != 0 && cudaEventQuery(event_) == cudaErrorNotReady;
}

std::optional<std::pair<std::uint64_t, cudaError_t>> cuda_copies::advance() {
  while (!jobs_.empty()) {
    job& first = jobs_.front();
    if (under_way_ != 0) {
      const cudaError_t code = end_chunk(first);
      if (code == cudaErrorNotReady) return std::nullopt;
      if (code != cudaSuccess) return end_front(code);
    }
    if (!has_more(first)) return end_front(cudaSuccess);
    if (const cudaError_t code = start_chunk(first); code != cudaSuccess) return end_front(code);
  }
  return std::nullopt;
}

bool cuda_copies::has_more(job& of) {
  while (of.piece < of.what.device.size() && of.offset == of.what.device[of.piece].size) {
    ++of.piece;
    of.offset = 0;
  }
  return of.piece < of.what.device.size();
}

cudaError_t cuda_copies::start_chunk(job& of) {
  const memory_piece& piece = of.what.device[of.piece];
  const std::size_t bytes = std::min(chunk_bytes_, piece.size - of.offset);
  std::byte* const at = piece.data + of.offset;
  cudaError_t code = cudaSuccess;
  if (of.what.to_host) {
    code = cudaMemcpyAsync(chunk_, at, bytes, cudaMemcpyDeviceToHost, stream_);
  } else {
    of.host.read(chunk_, bytes);
    code = cudaMemcpyAsync(at, chunk_, bytes, cudaMemcpyHostToDevice, stream_);
  }
  if (code == cudaSuccess) code = cudaEventRecord(event_, stream_);
  if (code != cudaSuccess) return code;
  of.offset += bytes;
  under_way_ = bytes;
  return code;
}

cudaError_t cuda_copies::end_chunk(job& of) {
  const cudaError_t code = cudaEventQuery(event_);
  if (code == cudaErrorNotReady) return code;
  if (code == cudaSuccess && of.what.to_host) of.host.write(chunk_, under_way_);
  under_way_ = 0;
  return code;
}

std::pair<std::uint64_t, cudaError_t> cuda_copies::end_front(cudaError_t code) {
  const std::uint64_t name = jobs_.front().what.name;
  under_way_ = 0;
  jobs_.pop_front();
  return {name, code};
}

}  // namespace weft::detail
