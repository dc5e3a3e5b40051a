// SPDX-License-Identifier: Apache-2.0
#include "cuda_model/world.hpp"

#include "cuda_model/state.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <utility>

namespace cuda_model {
namespace {

// What always succeeds is not among them.
constexpr std::array<std::string_view, 37> function_names{
    "cudaDeviceGetAttribute",
    "cudaEventCreateWithFlags",
    "cudaEventDestroy",
    "cudaEventQuery",
    "cudaEventRecord",
    "cudaEventSynchronize",
    "cudaFree",
    "cudaFreeHost",
    "cudaGetDevice",
    "cudaGetDeviceCount",
    "cudaGetDeviceProperties",
    "cudaHostAlloc",
    "cudaLaunchHostFunc",
    "cudaMalloc",
    "cudaMemcpyAsync",
    "cudaMemsetAsync",
    "cudaPointerGetAttributes",
    "cudaSetDevice",
    "cudaStreamCreateWithFlags",
    "cudaStreamDestroy",
    "cudaStreamQuery",
    "cudaStreamSynchronize",
    "cudaStreamWaitEvent",
    "ncclCommAbort",
    "ncclCommCount",
    "ncclCommCuDevice",
    "ncclCommDestroy",
    "ncclCommFinalize",
    "ncclCommGetAsyncError",
    "ncclCommInitRankConfig",
    "ncclCommRevoke",
    "ncclCommUserRank",
    "ncclGetUniqueId",
    "ncclGroupEnd",
    "ncclGroupStart",
    "ncclRecv",
    "ncclSend",
};

device_state& device_of(state& world, int rank) {
  if (rank < 0 || std::cmp_greater_equal(rank, world.devices.size()))
    throw std::out_of_range("cuda_model: there is no rank " + std::to_string(rank));
  return *world.devices[static_cast<std::size_t>(rank)];
}

void add_line(std::string& text, std::size_t count, std::string_view what) {
  if (count > 0) text += std::to_string(count) + " " + std::string(what) + "\n";
}

std::string report_of(const state& world) {
  std::string text;
  for (const violation& each : world.violations) text += describe(each) + "\n";
  return text;
}

template <class Map, class Counts>
std::size_t count_if(const Map& map, Counts counts) {
  return static_cast<std::size_t>(
      std::count_if(map.begin(), map.end(), [&](const auto& entry) { return counts(*entry.second); }));
}

}  // namespace

std::span<const std::string_view> functions() noexcept {
  return function_names;
}

world::world(int ranks, const options& wanted) : state_(std::make_shared<state>(ranks, wanted)) {
  if (current_state() != nullptr) throw std::logic_error("cuda_model: there is a world already");
  set_current_state(state_);
  engine_ = std::thread([shared = state_] { shared->work(); });
}

world::~world() {
  set_current_state(nullptr);
  std::unique_lock lock(state_->mutex);
  state_->closing = true;
  state_->changed.notify_all();
  state_->changed.wait(lock, [this] { return state_->calls_inside == 0; });
  lock.unlock();
  engine_.join();
  if (state_->violations.empty() || state_->violations_read) return;
  std::fprintf(stderr, "cuda_model: violations that no test has read:\n%s", report_of(*state_).c_str());
  std::abort();
}

void world::bind(int rank) {
  const std::lock_guard lock(state_->mutex);
  (void)device_of(*state_, rank);
  this_thread(state_->generation).device = rank;
}

void world::run(const std::function<void(int)>& rank_main) {
  std::vector<std::exception_ptr> failures(state_->devices.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < failures.size(); ++i) {
    threads.emplace_back([&, i] {
      const int rank = static_cast<int>(i);
      try {
        bind(rank);
        rank_main(rank);
      } catch (...) {
        failures[i] = std::current_exception();
      }
      const std::lock_guard lock(state_->mutex);
      device_of(*state_, rank).ended = true;
      state_->touch();
    });
  }
  for (std::thread& each : threads) each.join();
  for (const auto& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

void world::hold(int rank) {
  const std::lock_guard lock(state_->mutex);
  device_of(*state_, rank).held = true;
}

void world::release(int rank) {
  const std::lock_guard lock(state_->mutex);
  device_of(*state_, rank).held = false;
  state_->touch();
}

void world::hand_over(int rank) {
  const std::lock_guard lock(state_->mutex);
  const bool is_calling = std::ranges::any_of(state_->communicators, [rank](const auto& one) {
    return one.second->device == rank && one.second->doing != activity::ready;
  });
  if (is_calling || !state_->kernels_on(rank).empty())
    state_->violate(rules::handed_over_at_rest, rank, "something is under way on it");
  device_of(*state_, rank).issuer.reset();
}

void world::inject(injection wanted) {
  if (std::find(function_names.begin(), function_names.end(), wanted.call) == function_names.end())
    throw std::invalid_argument("cuda_model: no function " + wanted.call + " can be injected into");
  const std::lock_guard lock(state_->mutex);
  state_->injections.push_back({std::move(wanted)});
}

void world::release_lasting() {
  const std::lock_guard lock(state_->mutex);
  ++state_->release_count;
  for (const auto& [handle, one] : state_->communicators)
    if (one->polls_left == for_ever) one->polls_left = 0;
  state_->touch();
}

void world::fail_communicators(int rank, ncclResult_t code) {
  const std::lock_guard lock(state_->mutex);
  state_->failure_expected = true;
  for (const auto& [handle, one] : state_->communicators)
    if (one->device == rank) one->failure = code;
  state_->touch();
}

void world::break_device(int rank, cudaError_t code) {
  const std::lock_guard lock(state_->mutex);
  state_->failure_expected = true;
  device_of(*state_, rank).broken = code;
  state_->touch();
}

void world::lose(int rank) {
  const std::lock_guard lock(state_->mutex);
  state_->failure_expected = true;
  device_of(*state_, rank).lost = true;
  state_->touch();
}

std::vector<violation> world::violations() const {
  const std::lock_guard lock(state_->mutex);
  state_->violations_read = true;
  return state_->violations;
}

bool world::broke(const rule& one) const {
  const auto found = violations();
  return std::any_of(found.begin(), found.end(), [&](const violation& each) { return each.broken == &one; });
}

std::string world::report() const {
  const std::lock_guard lock(state_->mutex);
  state_->violations_read = true;
  return report_of(*state_);
}

std::string world::leftovers() const {
  const std::lock_guard lock(state_->mutex);
  const state& all = *state_;
  std::string text;
  std::size_t device_allocations = 0;
  for (const auto& each : all.devices) device_allocations += each->memory.allocation_count();
  add_line(text, all.communicators.size(), "communicators");
  add_line(text, all.streams.size(), "streams");
  add_line(text, all.events.size(), "events");
  add_line(text, device_allocations, "device allocations");
  add_line(text, all.pinned.allocation_count(), "pinned allocations");
  add_line(text, count_if(all.communicators, [](const communicator& one) { return one.is_busy(); }),
           "communicators with unfinished groups");
  add_line(text, count_if(all.cliques, [](const clique& one) { return !one.complete(); }), "unredeemed ids");
  return text;
}

int world::calls(std::string_view function) const {
  const std::lock_guard lock(state_->mutex);
  const auto found = state_->call_counts.find(function);
  return found == state_->call_counts.end() ? 0 : found->second;
}

int world::unredeemed_ids() const {
  const std::lock_guard lock(state_->mutex);
  return static_cast<int>(count_if(state_->cliques, [](const clique& one) { return !one.complete(); }));
}

int world::timing_events() const {
  const std::lock_guard lock(state_->mutex);
  return state_->timing_events;
}

void world::write(void* to, std::span<const std::byte> bytes) const {
  const std::lock_guard lock(state_->mutex);
  std::byte* view = state_->locate(to, bytes.size()).view;
  if (view == nullptr) throw std::out_of_range("cuda_model: not allocated");
  std::copy(bytes.begin(), bytes.end(), view);
}

std::vector<std::byte> world::read(const void* from, std::size_t bytes) const {
  const std::lock_guard lock(state_->mutex);
  const std::byte* view = state_->locate(from, bytes).view;
  if (view == nullptr) throw std::out_of_range("cuda_model: not allocated");
  return {view, view + bytes};
}

}  // namespace cuda_model
