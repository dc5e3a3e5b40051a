// SPDX-License-Identifier: Apache-2.0
// Devices, streams and events of the strict model.
#include "cuda_model_ranks.hpp"

#include <atomic>
#include <thread>

namespace {

using namespace cuda_model_test;
using cuda_model::options;
using cuda_model::world;
namespace rules = cuda_model::rules;

TEST_CASE("without a world there is no driver") {
  int count = 0;
  CHECK(cudaGetDeviceCount(&count) == cudaErrorInsufficientDriver);
  CHECK(cudaGetLastError() == cudaErrorInsufficientDriver);
  CHECK(cudaGetLastError() == cudaErrorInsufficientDriver);
  ncclUniqueId id;
  CHECK(ncclGetUniqueId(&id) == ncclUnhandledCudaError);
}

TEST_CASE("each rank has a device, and a thread chooses one before it works") {
  world all(3);
  int count = 0;
  CHECK(cudaGetDeviceCount(&count) == cudaSuccess);
  CHECK(count == 3);
  CHECK(cudaSetDevice(3) == cudaErrorInvalidDevice);
  CHECK(cudaGetLastError() == cudaErrorInvalidDevice);
  CHECK(cudaGetLastError() == cudaSuccess);
  CHECK(cudaSetDevice(2) == cudaSuccess);
  new_stream();
  CHECK(all.report() == "");
  std::thread([] { new_stream(); }).join();
  CHECK(all.broke(rules::chosen_device));
}

TEST_CASE("streams that wait for the default stream, and that itself, are caught") {
  world all(1);
  all.bind(0);
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamDefault) == cudaSuccess);
  CHECK(all.violations().size() == 1);
  CHECK(cudaStreamSynchronize(nullptr) == cudaErrorInvalidResourceHandle);
  CHECK(cudaStreamQuery(cudaStreamLegacy) == cudaErrorInvalidResourceHandle);
  CHECK(cudaStreamQuery(cudaStreamPerThread) == cudaErrorInvalidResourceHandle);
  CHECK(all.violations().size() == 4);
  CHECK(all.broke(rules::own_streams));
}

TEST_CASE("an event is done when its stream gets there, and reads as done if it was never recorded") {
  world all(1);
  all.bind(0);
  const cudaStream_t stream = new_stream();
  const cudaEvent_t event = new_event();
  CHECK(cudaEventQuery(event) == cudaSuccess);
  all.hold(0);
  CHECK(cudaMemsetAsync(device_memory(8), 1, 8, stream) == cudaSuccess);
  CHECK(cudaEventRecord(event, stream) == cudaSuccess);
  CHECK(cudaEventQuery(event) == cudaErrorNotReady);
  CHECK(cudaStreamQuery(stream) == cudaErrorNotReady);
  CHECK(cudaGetLastError() == cudaSuccess);
  all.release(0);
  CHECK(cudaEventSynchronize(event) == cudaSuccess);
  CHECK(cudaEventQuery(event) == cudaSuccess);
  CHECK(cudaEventDestroy(event) == cudaSuccess);
  CHECK(all.report() == "");
  CHECK(all.calls("cudaEventQuery") == 3);
  CHECK(all.timing_events() == 0);
}

TEST_CASE("a stream waits for an event of another") {
  world all(1);
  all.bind(0);
  all.hold(0);
  const cudaStream_t first = new_stream();
  const cudaStream_t second = new_stream();
  std::byte* memory = device_memory(8);
  std::byte* copy = device_memory(8);
  const cudaEvent_t filled = new_event();
  CHECK(cudaMemsetAsync(memory, 7, 8, second) == cudaSuccess);
  CHECK(cudaEventRecord(filled, second) == cudaSuccess);
  CHECK(cudaStreamWaitEvent(first, filled, 0) == cudaSuccess);
  CHECK(cudaMemcpyAsync(copy, memory, 8, cudaMemcpyDeviceToDevice, first) == cudaSuccess);
  all.release(0);
  CHECK(cudaStreamSynchronize(first) == cudaSuccess);
  CHECK(all.read(copy, 8) == std::vector<std::byte>(8, std::byte{7}));
  CHECK(all.report() == "");
}

TEST_CASE("destroying an event that is not done waits for it, and is caught") {
  world all(1);
  all.bind(0);
  all.hold(0);
  const cudaStream_t stream = new_stream();
  const cudaEvent_t event = new_event();
  cudaEventRecord(event, stream);
  std::atomic<bool> destroyed = false;
  std::thread destroyer([&] {
    all.bind(0);
    cudaEventDestroy(event);
    destroyed = true;
  });
  while (!all.broke(rules::finished_events)) std::this_thread::yield();
  CHECK_FALSE(destroyed);
  all.release(0);
  destroyer.join();
}

TEST_CASE("handles are not used after their end") {
  world all(1);
  all.bind(0);
  const cudaStream_t stream = new_stream();
  const cudaEvent_t event = new_event();
  CHECK(cudaStreamDestroy(stream) == cudaSuccess);
  CHECK(cudaEventDestroy(event) == cudaSuccess);
  CHECK(all.report() == "");
  CHECK(cudaStreamQuery(stream) == cudaErrorInvalidResourceHandle);
  CHECK(cudaEventQuery(event) == cudaErrorInvalidResourceHandle);
  CHECK(all.violations().size() == 2);
  CHECK(all.broke(rules::live_handles));
}

TEST_CASE("a host function runs in stream order, and may not call CUDA") {
  world all(1);
  all.bind(0);
  const cudaStream_t stream = new_stream();
  int calls = 0;
  const auto count = [](void* data) { ++*static_cast<int*>(data); };
  CHECK(cudaLaunchHostFunc(stream, count, &calls) == cudaSuccess);
  CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
  CHECK(calls == 1);
  CHECK(all.report() == "");
  const auto misbehave = [](void* data) { cudaGetDeviceCount(static_cast<int*>(data)); };
  CHECK(cudaLaunchHostFunc(stream, misbehave, &calls) == cudaSuccess);
  CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
  CHECK(all.broke(rules::pure_host_functions));
}

TEST_CASE("a broken device answers everything with its error, and runs no host function") {
  world all(1);
  all.bind(0);
  const cudaStream_t stream = new_stream();
  const cudaEvent_t event = new_event();
  all.hold(0);
  bool called = false;
  cudaEventRecord(event, stream);
  cudaLaunchHostFunc(
      stream, [](void* data) { *static_cast<bool*>(data) = true; }, &called);
  all.break_device(0, cudaErrorIllegalAddress);
  all.release(0);
  CHECK(cudaEventQuery(event) == cudaErrorIllegalAddress);
  CHECK(cudaStreamSynchronize(stream) == cudaErrorIllegalAddress);
  CHECK(cudaGetLastError() == cudaErrorIllegalAddress);
  CHECK(cudaGetLastError() == cudaErrorIllegalAddress);
  CHECK_FALSE(called);
  CHECK(all.report() == "");
}

}  // namespace
