// SPDX-License-Identifier: Apache-2.0
// How every modelled function begins and ends.
#pragma once

#include "cuda_model/state.hpp"

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace cuda_model {

/// A call in progress: the world is locked.
class call {
 public:
  call(std::string_view name, std::shared_ptr<state> shared);
  call(const call&) = delete;
  call& operator=(const call&) = delete;
  ~call();

  [[nodiscard]] state& world() const noexcept { return *world_; }
  [[nodiscard]] thread_state& self() const noexcept { return self_; }
  [[nodiscard]] std::string name() const { return std::string(name_); }

  /// Breaks a rule; gives back the code to return.
  template <class Code>
  Code refuse(const rule& broken, Code code, const std::string& detail) const {
    world_->violate(broken, rank(), name() + ": " + detail);
    return code;
  }
  void violate(const rule& broken, const std::string& detail) const { (void)refuse(broken, 0, detail); }

  /// The thread's device. Not to have chosen one breaks a rule.
  int current_device();
  /// Whose call it is, for injections and messages.
  [[nodiscard]] int rank() const noexcept { return subject_ != nullptr ? subject_->device : self_.device; }

  /// The communicator that the call is about.
  void set_subject(communicator& one) noexcept { subject_ = &one; }
  [[nodiscard]] communicator* subject() const noexcept { return subject_; }

  /// Blocks until `ready`; false if it never will be. `possible`: see blocked_call.
  bool wait(int device, std::function<bool()> ready, std::function<bool(outlook&)> possible);
  void wait_for_release();

  /// Looks for an injection; the code to return if it is that the call fails.
  std::optional<int> inject();
  /// How often the call is to be "in progress", if it is to last.
  [[nodiscard]] std::optional<int> lasting_polls() const;
  /// The code that comes after success.
  [[nodiscard]] int late_code() const;

 private:
  std::string_view name_;
  std::shared_ptr<state> world_;
  std::unique_lock<std::mutex> lock_;
  thread_state& self_;
  communicator* subject_ = nullptr;
  std::optional<injection> injected_;
};

[[nodiscard]] cudaError_t answer_without_driver();
cudaError_t finish_cuda_call(call& context, cudaError_t code);
[[nodiscard]] std::optional<cudaError_t> begin_cuda_call(call& context);
[[nodiscard]] std::optional<ncclResult_t> begin_nccl_call(call& context, ncclComm_t communicator, bool may_last);
ncclResult_t finish_nccl_call(call& context, ncclResult_t code);

/// `body(call&)` does what the function does.
template <class Body>
cudaError_t cuda_call(std::string_view name, Body body) {
  auto world = current_state();
  if (world == nullptr) return answer_without_driver();
  call context(name, std::move(world));
  if (const auto answer = begin_cuda_call(context)) return finish_cuda_call(context, *answer);
  return finish_cuda_call(context, body(context));
}

struct no_side_effect {
  void operator()(call&, ncclResult_t) const {}
};

/// `may_last`: the body itself heeds `lasting_polls`. `on_refusal`: what the call leaves behind where `body` is not
/// run.
template <class Body, class OnRefusal = no_side_effect>
ncclResult_t nccl_call(std::string_view name, ncclComm_t communicator, bool may_last, Body body,
                       OnRefusal on_refusal = {}) {
  auto world = current_state();
  if (world == nullptr) return ncclUnhandledCudaError;
  call context(name, std::move(world));
  if (const auto answer = begin_nccl_call(context, communicator, may_last)) {
    on_refusal(context, *answer);
    return *answer;
  }
  return finish_nccl_call(context, body(context));
}

}  // namespace cuda_model
