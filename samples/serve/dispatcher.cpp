// SPDX-License-Identifier: Apache-2.0
#include "dispatcher.hpp"

#include "messages.hpp"

#include <weft/engine/error.hpp>

#include <algorithm>
#include <numeric>

namespace serve {

dispatcher::dispatcher(int workers, int capacity)
    : workers_(static_cast<std::size_t>(workers)), capacity_(capacity), next_tag_(first_reply) {}

void dispatcher::ready(int rank, std::int64_t pid) {
  at(rank).state = state::ready;
  at(rank).pid = pid;
}

void dispatcher::lose(int rank) {
  at(rank).state = state::lost;
}

std::optional<place> dispatcher::take() {
  worker* best = nullptr;
  std::size_t found = 0;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    const std::size_t index = (next_ + i) % workers_.size();
    worker& one = workers_[index];
    if (!has_room(one) || (best != nullptr && best->in_flight <= one.in_flight)) continue;
    best = &one;
    found = index;
  }
  if (best == nullptr) return std::nullopt;
  ++best->in_flight;
  ++best->taken;
  next_ = found + 1;
  return place{static_cast<int>(found) + 1, next_tag_++};
}

void dispatcher::give_back(place where) {
  --at(where.worker).in_flight;
}

bool dispatcher::has_room(const worker& one) const {
  return one.state == state::ready && one.in_flight < capacity_;
}

bool dispatcher::any_ready() const {
  return std::any_of(workers_.begin(), workers_.end(), [](const worker& one) { return one.state == state::ready; });
}

int dispatcher::in_flight() const {
  return std::accumulate(workers_.begin(), workers_.end(), 0,
                         [](int sum, const worker& one) { return sum + one.in_flight; });
}

std::optional<ending> after_failure(const boost::system::error_code& why, bool begun) {
  if (begun) return ending::cut_off;
  if (why == weft::errc::timed_out) return ending::too_late;
  if (why == weft::errc::peer_lost || why == weft::errc::peer_left) return std::nullopt;
  return ending::failed;
}

}  // namespace serve
