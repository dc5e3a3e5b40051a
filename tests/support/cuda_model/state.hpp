// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda_model/communicator.hpp"
#include "cuda_model/memory.hpp"
#include "cuda_model/options.hpp"
#include "cuda_model/rules.hpp"
#include "cuda_model/stream.hpp"
#include "cuda_model/thread_state.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace cuda_model {

class outlook;

struct device_state {
  explicit device_state(std::size_t bytes) : memory(bytes) {}

  device_memory memory;
  std::optional<std::thread::id> issuer;  ///< the one thread that makes NCCL calls
  bool held = false;                      ///< by the test: nothing moves
  bool ended = false;                     ///< its rank makes no more calls
  bool lost = false;                      ///< its rank died: what waits for it is not the program's fault
  cudaError_t broken = cudaSuccess;       ///< what every call answers from now on
};

/// A call that blocks its thread.
struct blocked_call {
  int device = no_device;
  std::string what;
  std::function<bool()> ready;
  std::function<bool(outlook&)> possible;  ///< whether it can end, if all goes well
  bool scripted = false;                   ///< it blocks because the test wants it
  std::thread::id thread = std::this_thread::get_id();
};

/// Where the bytes of a pointer are.
struct location {
  enum class kind { pageable, pinned, device, invalid };
  kind where;
  int device = no_device;
  std::byte* view = nullptr;
};

struct pending_injection {
  injection wanted;
  int seen = 0;
};

/// Everything, under one mutex.
struct state {
  state(int ranks, const options& wanted);
  state(const state&) = delete;
  state& operator=(const state&) = delete;
  ~state();

  // Rules
  void violate(const rule& broken, int rank, std::string detail);
  std::vector<violation> violations;

  // Blocking. Something has changed that others may wait for: `touch`. False when the call ends without being ready.
  void touch();
  [[nodiscard]] bool block(std::unique_lock<std::mutex>& lock, blocked_call call);

  // Things
  [[nodiscard]] stream* find(cudaStream_t handle);
  [[nodiscard]] event* find(cudaEvent_t handle);
  [[nodiscard]] communicator* find(ncclComm_t handle);
  [[nodiscard]] location locate(const void* at, std::size_t bytes) const;
  [[nodiscard]] std::vector<std::shared_ptr<kernel>> kernels_on(int device) const;  ///< unfinished, as launched
  [[nodiscard]] bool is_used_by_transfer(const void* at, std::size_t bytes) const;
  [[nodiscard]] bool is_excused(const kernel& one) const;

  // Injection
  [[nodiscard]] std::optional<injection> due(std::string_view call, int rank);

  // The engine: takes one step; proves or suspects a hang; ends everything.
  bool advance(std::unique_lock<std::mutex>& lock);
  void look_for_hang();
  void give_up(const std::string& why);
  void work();

  const options settings;
  const std::uint64_t generation;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::unique_ptr<device_state>> devices;
  pinned_memory pinned;
  std::map<std::uint64_t, std::unique_ptr<stream>> streams;
  std::map<std::uint64_t, std::unique_ptr<event>> events;
  std::map<std::uint64_t, std::unique_ptr<communicator>> communicators;
  std::vector<std::unique_ptr<communicator>> freed_communicators;  ///< kernels of partners still refer to them
  std::map<std::uint64_t, std::shared_ptr<clique>> cliques;        ///< by the number in the unique id
  std::uint64_t next_handle = 0x1000;                              ///< never used again, nor that of a default stream
  std::list<blocked_call> blocked;
  std::list<pending_injection> injections;
  std::map<std::string, int, std::less<>> call_counts;
  int timing_events = 0;
  std::uint64_t release_count = 0;  ///< of calls that last
  std::uint64_t version = 0;
  std::uint64_t version_without_hang = 0;
  std::chrono::steady_clock::time_point last_change = std::chrono::steady_clock::now();
  int calls_inside = 0;
  bool failure_expected = false;  ///< by the test: only the time limit says what is a hang
  bool hung = false;
  bool closing = false;
  bool violations_read = false;
};

/// The world of this process, if there is one.
[[nodiscard]] std::shared_ptr<state> current_state();
void set_current_state(std::shared_ptr<state> one);

[[nodiscard]] bool overlaps(const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes);

template <class Handle>
[[nodiscard]] std::uint64_t number_of(Handle handle) {
  return reinterpret_cast<std::uintptr_t>(handle);
}
template <class Handle>
[[nodiscard]] Handle handle_of(std::uint64_t number) {
  return reinterpret_cast<Handle>(static_cast<std::uintptr_t>(number));
}

}  // namespace cuda_model
