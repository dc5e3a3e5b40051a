// SPDX-License-Identifier: Apache-2.0
#include "cuda_model/state.hpp"

#include "cuda_model/hang.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

namespace cuda_model {
namespace {

std::mutex current_mutex;
std::shared_ptr<state> current;  // NOLINT(cert-err58-cpp)

std::uint64_t next_generation() {
  static std::atomic<std::uint64_t> count = 0;
  return ++count;
}

template <class Map>
typename Map::mapped_type::element_type* find_in(Map& map, std::uint64_t number) {
  const auto found = map.find(number);
  return found == map.end() ? nullptr : found->second.get();
}

}  // namespace

std::shared_ptr<state> current_state() {
  const std::lock_guard lock(current_mutex);
  return current;
}

void set_current_state(std::shared_ptr<state> one) {
  const std::lock_guard lock(current_mutex);
  current = std::move(one);
}

bool overlaps(const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes) {
  const auto first = reinterpret_cast<std::uintptr_t>(a);
  const auto second = reinterpret_cast<std::uintptr_t>(b);
  return first < second + b_bytes && second < first + a_bytes;
}

std::string describe(const violation& one) {
  const std::string who = one.rank == no_device ? "no rank" : "rank " + std::to_string(one.rank);
  return who + ": " + one.detail + " (rule: " + std::string(one.broken->text) + "; " + std::string(one.broken->source) +
         ")";
}

state::state(int ranks, const options& wanted) : settings(wanted), generation(next_generation()) {
  for (int rank = 0; rank < ranks; ++rank) devices.push_back(std::make_unique<device_state>(wanted.device_bytes));
}

state::~state() {
  // Kernels that never met or ended refer to each other.
  for (const auto& [handle, one] : communicators) {
    for (const auto& each : one->queue) each->partners.clear();
    for (const auto& each : one->launching) each->partners.clear();
  }
}

void state::violate(const rule& broken, int rank, std::string detail) {
  violations.push_back({&broken, rank, std::move(detail)});
  violations_read = false;
}

void state::touch() {
  ++version;
  last_change = std::chrono::steady_clock::now();
  changed.notify_all();
}

bool state::block(std::unique_lock<std::mutex>& lock, blocked_call call) {
  if (call.ready()) return true;
  if (hung || closing) return false;
  blocked.push_back(std::move(call));
  const auto self = std::prev(blocked.end());
  touch();
  changed.wait(lock, [&] { return self->ready() || hung || closing; });
  const bool ready = self->ready();
  blocked.erase(self);
  touch();
  return ready;
}

stream* state::find(cudaStream_t handle) {
  return find_in(streams, number_of(handle));
}
event* state::find(cudaEvent_t handle) {
  return find_in(events, number_of(handle));
}
communicator* state::find(ncclComm_t handle) {
  return find_in(communicators, number_of(handle));
}

location state::locate(const void* at, std::size_t bytes) const {
  using kind = location::kind;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (!devices[i]->memory.covers(at)) continue;
    std::byte* view = devices[i]->memory.view(at, bytes);
    return {view != nullptr ? kind::device : kind::invalid, static_cast<int>(i), view};
  }
  if (std::byte* view = pinned.view(at, bytes)) return {kind::pinned, no_device, view};
  if (pinned.view(at, 0) != nullptr) return {kind::invalid};
  return {kind::pageable, no_device, static_cast<std::byte*>(const_cast<void*>(at))};
}

std::vector<std::shared_ptr<kernel>> state::kernels_on(int device) const {
  std::vector<std::shared_ptr<kernel>> found;
  for (const auto& [handle, one] : communicators) {
    if (one->device != device) continue;
    found.insert(found.end(), one->queue.begin(), one->queue.end());
    found.insert(found.end(), one->launching.begin(), one->launching.end());
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a->order < b->order; });
  return found;
}

bool state::is_used_by_transfer(const void* at, std::size_t bytes) const {
  for (std::size_t device = 0; device < devices.size(); ++device)
    for (const auto& one : kernels_on(static_cast<int>(device)))
      for (const transfer& each : one->transfers)
        if (overlaps(at, bytes, each.memory, each.bytes)) return true;
  return false;
}

bool state::is_excused(const kernel& one) const {
  const device_state& device = *devices[static_cast<std::size_t>(one.device)];
  return one.owner->group->excused || device.held || device.lost || device.broken != cudaSuccess;
}

std::optional<injection> state::due(std::string_view call, int rank) {
  for (auto it = injections.begin(); it != injections.end(); ++it) {
    if (it->wanted.call != call || (it->wanted.rank != any_rank && it->wanted.rank != rank)) continue;
    if (++it->seen < it->wanted.occurrence) continue;
    injection found = it->wanted;
    injections.erase(it);
    return found;
  }
  return std::nullopt;
}

void state::give_up(const std::string& why) {
  violate(rules::progress, no_device, why);
  hung = true;
  for (const auto& [handle, one] : communicators) spoil(*this, *one);
  touch();
}

}  // namespace cuda_model
