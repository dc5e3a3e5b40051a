// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/cuda_work.hpp"

#include <boost/system/system_error.hpp>

namespace weft::detail {

boost::system::error_code cuda_work::watch(std::uint64_t name, const device_work& work) {
  const std::lock_guard lock(mutex_);
  coro::cuda::detail::awaited_event wanted{.number = name};
  if (work.what == device_work::kind::event) {
    wanted.event = static_cast<cudaEvent_t>(work.handle);
    lanes_.add(nullptr, wanted);
  } else {
    auto* const stream = static_cast<cudaStream_t>(work.handle);
    if (const cudaError_t code = record(stream, wanted.event); code != cudaSuccess) return code_of(code);
    wanted.pooled = true;
    lanes_.add(stream, wanted);
  }
  ++watched_;
  return {};
}

// An event belongs to the device that was chosen when it was made, and the thread of the caller may have chosen any.
cudaError_t cuda_work::record(cudaStream_t stream, cudaEvent_t& event) {
  int before = ordinal_;
  if (const cudaError_t code = cudaGetDevice(&before); code != cudaSuccess) return code;
  if (before != ordinal_)
    if (const cudaError_t code = cudaSetDevice(ordinal_); code != cudaSuccess) return code;
  cudaError_t code = cudaSuccess;
  try {
    event = pool_.take();
    code = cudaEventRecord(event, stream);
    if (code != cudaSuccess) pool_.give_back(event);
  } catch (const boost::system::system_error& refused) {
    code = static_cast<cudaError_t>(refused.code().value());
  }
  if (before != ordinal_) (void)cudaSetDevice(before);
  return code;
}

// A recording that is not over does no harm to the next one of the same event.
void cuda_work::forget(std::uint64_t name) noexcept {
  const std::lock_guard lock(mutex_);
  const coro::cuda::detail::awaited_event* found = lanes_.find(name);
  if (found == nullptr) return;
  let_go(*found);
  lanes_.erase(name);
}

void cuda_work::let_go(const coro::cuda::detail::awaited_event& over) {
  --watched_;
  if (over.pooled) pool_.give_back(over.event);
}

}  // namespace weft::detail
