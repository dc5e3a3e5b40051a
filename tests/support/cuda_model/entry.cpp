// SPDX-License-Identifier: Apache-2.0
#include "cuda_model/entry.hpp"

#include "cuda_model/hang.hpp"

#include <utility>

namespace cuda_model {

call::call(std::string_view name, std::shared_ptr<state> shared)
    : name_(name), world_(std::move(shared)), lock_(world_->mutex), self_(this_thread(world_->generation)) {
  ++world_->calls_inside;
  const auto count = world_->call_counts.find(name);
  if (count == world_->call_counts.end()) {
    world_->call_counts.emplace(name, 1);
  } else {
    ++count->second;
  }
}

call::~call() {
  --world_->calls_inside;
  if (world_->closing) world_->changed.notify_all();
}

int call::current_device() {
  if (self_.device != no_device) return self_.device;
  violate(rules::chosen_device, "this thread has not called cudaSetDevice");
  self_.device = 0;
  return 0;
}

bool call::wait(int device, std::function<bool()> ready, std::function<bool(outlook&)> possible) {
  return world_->block(lock_, {device, name(), std::move(ready), std::move(possible)});
}

void call::wait_for_release() {
  const auto before = world_->release_count;
  const auto released = [this, before] { return world_->release_count != before; };
  (void)world_->block(lock_, {rank(), name(), released, [](outlook&) { return true; }, true});
}

std::optional<int> call::inject() {
  injected_ = world_->due(name_, rank());
  if (!injected_) return std::nullopt;
  world_->failure_expected = true;
  if (injected_->what == effect::fails) return injected_->code;
  return std::nullopt;
}

std::optional<int> call::lasting_polls() const {
  if (!injected_ || injected_->what != effect::lasts) return std::nullopt;
  return injected_->polls;
}

int call::late_code() const {
  return injected_ && injected_->what == effect::fails_later ? injected_->code : 0;
}

cudaError_t answer_without_driver() {
  return cudaErrorInsufficientDriver;
}

std::optional<cudaError_t> begin_cuda_call(call& context) {
  state& world = context.world();
  if (context.self().in_host_function)
    return context.refuse(rules::pure_host_functions, cudaErrorNotPermitted, "called by a host function");
  if (const auto code = context.inject()) return static_cast<cudaError_t>(*code);
  if (context.lasting_polls()) context.wait_for_release();
  const int device = context.self().device;
  if (device != no_device && world.devices[static_cast<std::size_t>(device)]->broken != cudaSuccess)
    return world.devices[static_cast<std::size_t>(device)]->broken;
  return std::nullopt;
}

cudaError_t finish_cuda_call(call& context, cudaError_t code) {
  if (code == cudaSuccess && context.late_code() != 0 && context.rank() != no_device) {
    context.world().devices[static_cast<std::size_t>(context.rank())]->broken =
        static_cast<cudaError_t>(context.late_code());
    context.world().touch();
  }
  if (code != cudaSuccess && code != cudaErrorNotReady) context.self().last_error = code;
  return code;
}

std::optional<ncclResult_t> begin_nccl_call(call& context, ncclComm_t communicator, bool may_last) {
  if (context.self().in_host_function)
    return context.refuse(rules::pure_host_functions, ncclInvalidUsage, "called by a host function");
  if (communicator != nullptr) {
    auto* found = context.world().find(communicator);
    if (found == nullptr)
      return context.refuse(rules::live_handles, ncclInvalidArgument, "there is no such communicator");
    context.set_subject(*found);
  }
  if (const auto code = context.inject()) return static_cast<ncclResult_t>(*code);
  if (context.lasting_polls() && !may_last) context.wait_for_release();
  return std::nullopt;
}

ncclResult_t finish_nccl_call(call& context, ncclResult_t code) {
  const bool went_well = code == ncclSuccess || code == ncclInProgress;
  if (went_well && context.late_code() != 0 && context.subject() != nullptr) {
    context.subject()->failure = static_cast<ncclResult_t>(context.late_code());
    context.world().touch();
  }
  return code;
}

}  // namespace cuda_model
