// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/cuda_chores.hpp"

#include <boost/system/system_error.hpp>

#include <chrono>
#include <thread>
#include <utility>

namespace weft::detail {

boost::system::error_code cuda_chores::watch(std::uint64_t name, const device_work& work) {
  const std::lock_guard lock(mutex_);
  coro::cuda::detail::awaited_event wanted{.number = name};
  if (work.what == device_work::kind::event) {
    wanted.event = static_cast<cudaEvent_t>(work.handle);
    watched_.add(nullptr, wanted);
  } else {
    auto* const stream = static_cast<cudaStream_t>(work.handle);
    if (const cudaError_t code = record(stream, wanted.event); code != cudaSuccess) return code_of(code);
    wanted.pooled = true;
    watched_.add(stream, wanted);
  }
  note_emptiness();
  return {};
}

// An event belongs to the device that was chosen when it was made, and the thread of the caller may have chosen any.
cudaError_t cuda_chores::record(cudaStream_t stream, cudaEvent_t& event) {
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

void cuda_chores::copy(std::uint64_t name, bool to_host, std::vector<memory_piece> device,
                       std::vector<memory_piece> host) {
  const std::lock_guard lock(mutex_);
  copies_.add({name, to_host, std::move(device), std::move(host)});
  note_emptiness();
}

// A recording that is not over does no harm to the next one of the same event.
bool cuda_chores::forget(std::uint64_t name, std::uint64_t last_name) {
  const std::lock_guard lock(mutex_);
  if (const coro::cuda::detail::awaited_event* found = watched_.find(name)) {
    if (found->pooled) pool_.give_back(found->event);
    watched_.erase(name);
  }
  const bool touched = copies_.forget(name, last_name);
  note_emptiness();
  return touched;
}

void cuda_chores::come_to_rest() noexcept {
  constexpr std::chrono::seconds patience{1};
  const std::lock_guard lock(mutex_);
  const auto end = std::chrono::steady_clock::now() + patience;
  while (copies_.is_touching() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
}

}  // namespace weft::detail
