// SPDX-License-Identifier: Apache-2.0
// Events, streams, copies and memory.
#include "handles.hpp"
#include "probes.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace weft::gpu {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t copied_bytes = std::size_t{1} << 20;
/// Longer than any call that does not wait takes.
constexpr auto pause = 300ms;

std::string event_never_recorded() {
  return named(cudaEventQuery(new_event().get()));
}

std::string event_before_and_after_work() {
  const owned_stream stream = new_stream();
  const owned_event event = new_event();
  gate work(stream.get());
  const std::string recorded = named(cudaEventRecord(event.get(), stream.get()));
  const std::string before = named(cudaEventQuery(event.get()));
  work.open();
  const std::string waited = named(cudaEventSynchronize(event.get()));
  return listed({recorded, before, waited, named(cudaEventQuery(event.get()))});
}

std::string event_recorded_again() {
  const owned_stream stream = new_stream();
  const owned_event event = new_event();
  demand(cudaEventRecord(event.get(), stream.get()), "cudaEventRecord");
  demand(cudaEventSynchronize(event.get()), "cudaEventSynchronize");
  const std::string first = named(cudaEventQuery(event.get()));
  const gate work(stream.get());
  demand(cudaEventRecord(event.get(), stream.get()), "cudaEventRecord");
  return listed({first, named(cudaEventQuery(event.get()))});
}

std::string event_made_and_destroyed() {
  cudaEvent_t event = nullptr;
  const std::string made = named(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  return listed({made, named(cudaEventDestroy(event))});
}

std::string stream_before_and_after_work() {
  const owned_stream stream = new_stream();
  const std::string idle = named(cudaStreamQuery(stream.get()));
  gate work(stream.get());
  const std::string before = named(cudaStreamQuery(stream.get()));
  work.open();
  const std::string waited = named(cudaStreamSynchronize(stream.get()));
  return listed({idle, before, waited, named(cudaStreamQuery(stream.get()))});
}

std::string stream_waits_for_event() {
  const owned_stream first = new_stream();
  const owned_stream second = new_stream();
  const owned_event event = new_event();
  gate work(first.get());
  demand(cudaEventRecord(event.get(), first.get()), "cudaEventRecord");
  const std::string told = named(cudaStreamWaitEvent(second.get(), event.get(), 0));
  const std::string before = named(cudaStreamQuery(second.get()));
  work.open();
  return listed({told, before, named(cudaStreamSynchronize(second.get()))});
}

std::string host_function_in_its_turn() {
  const owned_stream stream = new_stream();
  std::atomic<bool> called = false;
  gate work(stream.get());
  const auto set = [](void* flag) { static_cast<std::atomic<bool>*>(flag)->store(true); };
  const std::string launched = named(cudaLaunchHostFunc(stream.get(), set, &called));
  const std::string before = called ? "called too early" : "not called";
  work.open();
  demand(cudaStreamSynchronize(stream.get()), "cudaStreamSynchronize");
  return listed({launched, before, called ? "called" : "never called"});
}

/// A copy behind work that takes its time: whether the call waits for that.
std::string copy_behind_work(std::byte* to, const std::byte* from, cudaMemcpyKind kind) {
  const owned_stream stream = new_stream();
  gate work(stream.get());
  work.open_after(pause);
  const std::string code = named(cudaMemcpyAsync(to, from, copied_bytes, kind, stream.get()));
  const bool waited = work.is_open();
  demand(cudaStreamSynchronize(stream.get()), "cudaStreamSynchronize");
  return listed({code, waited ? "waits for the stream" : "returns before"});
}

std::string verdict(const std::byte* bytes) {
  const auto expected = pattern(copied_bytes);
  return std::equal(expected.begin(), expected.end(), bytes) ? "the bytes arrive" : "the bytes are wrong";
}

/// What the device's memory holds, by pinned memory.
std::string verdict_of_device(const std::byte* memory) {
  const pinned_memory seen = new_pinned_memory(copied_bytes);
  std::fill_n(seen.get(), copied_bytes, std::byte{0});
  (void)copy_behind_work(seen.get(), memory, cudaMemcpyDeviceToHost);
  return verdict(seen.get());
}

device_memory patterned_device_memory() {
  device_memory memory = new_device_memory(copied_bytes);
  const pinned_memory source = new_pinned_memory(copied_bytes);
  std::ranges::copy(pattern(copied_bytes), source.get());
  (void)copy_behind_work(memory.get(), source.get(), cudaMemcpyHostToDevice);
  return memory;
}

std::string copy_from_pinned() {
  const device_memory memory = new_device_memory(copied_bytes);
  const pinned_memory source = new_pinned_memory(copied_bytes);
  std::ranges::copy(pattern(copied_bytes), source.get());
  const std::string how = copy_behind_work(memory.get(), source.get(), cudaMemcpyHostToDevice);
  return listed({how, verdict_of_device(memory.get())});
}

std::string copy_to_pinned() {
  const device_memory memory = patterned_device_memory();
  const pinned_memory target = new_pinned_memory(copied_bytes);
  const std::string how = copy_behind_work(target.get(), memory.get(), cudaMemcpyDeviceToHost);
  return listed({how, verdict(target.get())});
}

std::string copy_from_pageable() {
  const device_memory memory = new_device_memory(copied_bytes);
  const auto source = pattern(copied_bytes);
  const std::string how = copy_behind_work(memory.get(), source.data(), cudaMemcpyHostToDevice);
  return listed({how, verdict_of_device(memory.get())});
}

std::string copy_to_pageable() {
  const device_memory memory = patterned_device_memory();
  std::vector<std::byte> target(copied_bytes);
  const std::string how = copy_behind_work(target.data(), memory.get(), cudaMemcpyDeviceToHost);
  return listed({how, verdict(target.data())});
}

std::string copy_within_device() {
  const device_memory from = patterned_device_memory();
  const device_memory to = new_device_memory(copied_bytes);
  const std::string how = copy_behind_work(to.get(), from.get(), cudaMemcpyDeviceToDevice);
  return listed({how, verdict_of_device(to.get())});
}

std::string type_of(const void* memory) {
  cudaPointerAttributes found{};
  const cudaError_t code = cudaPointerGetAttributes(&found, memory);
  if (code != cudaSuccess) return named(code);
  switch (found.type) {
    case cudaMemoryTypeUnregistered:
      return "unregistered";
    case cudaMemoryTypeHost:
      return "host of device " + std::to_string(found.device);
    case cudaMemoryTypeDevice:
      return "device " + std::to_string(found.device);
    default:
      return "type " + std::to_string(static_cast<int>(found.type));
  }
}

std::string kinds_of_memory() {
  const device_memory device = new_device_memory(copied_bytes);
  const pinned_memory pinned = new_pinned_memory(copied_bytes);
  const std::vector<std::byte> ordinary(copied_bytes);
  return listed({type_of(device.get()), type_of(device.get() + copied_bytes / 2), type_of(pinned.get()),
                 type_of(ordinary.data())});
}

std::string memory_made_and_freed() {
  void* device = nullptr;
  void* pinned = nullptr;
  const std::string made = named(cudaMalloc(&device, copied_bytes));
  const std::string made_pinned = named(cudaHostAlloc(&pinned, copied_bytes, cudaHostAllocDefault));
  return listed({made, made_pinned, named(cudaFree(device)), named(cudaFreeHost(pinned))});
}

std::string memory_of_no_bytes() {
  void* memory = &memory;
  const std::string code = named(cudaMalloc(&memory, 0));
  return listed({code, memory == nullptr ? "null" : "an address"});
}

std::string device_outside() {
  int count = 0;
  const std::string counted = named(cudaGetDeviceCount(&count));
  const std::string chosen = named(cudaSetDevice(count));
  const std::string first = named(cudaGetLastError());
  return listed({counted, chosen, first, named(cudaGetLastError())});
}

constexpr std::array probes{
    probe{"event never recorded", event_never_recorded},
    probe{"event before and after work", event_before_and_after_work},
    probe{"event recorded again", event_recorded_again},
    probe{"event made and destroyed", event_made_and_destroyed},
    probe{"stream before and after work", stream_before_and_after_work},
    probe{"stream waits for event", stream_waits_for_event},
    probe{"host function in its turn", host_function_in_its_turn},
    probe{"copy from pinned memory", copy_from_pinned},
    probe{"copy to pinned memory", copy_to_pinned},
    probe{"copy from pageable memory", copy_from_pageable},
    probe{"copy to pageable memory", copy_to_pageable},
    probe{"copy within the device", copy_within_device},
    probe{"kinds of memory", kinds_of_memory},
    probe{"memory made and freed", memory_made_and_freed},
    probe{"memory of no bytes", memory_of_no_bytes},
    probe{"device outside of what there is", device_outside},
};

}  // namespace

std::span<const probe> cuda_probes() {
  return probes;
}

}  // namespace weft::gpu
