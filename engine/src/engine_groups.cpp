// SPDX-License-Identifier: Apache-2.0
// Groups that are split off: the sequencer forms them, this rank takes part and is told.
#include "engine_core.hpp"

#include <algorithm>
#include <utility>

namespace weft::detail {
namespace {

operation_details of_split(std::string reason = {}) {
  operation_details details;
  details.operation = operation_kind::split;
  details.reason = std::move(reason);
  return details;
}

}  // namespace

group::group(std::uint64_t which, int self, std::vector<int> all) : number(which), members(std::move(all)) {
  places.reserve(members.size());
  for (std::size_t i = 0; i < members.size(); ++i) places.emplace_back(members[i], static_cast<int>(i));
  std::sort(places.begin(), places.end());
  rank = rank_of(self);
}

int group::rank_of(int world_rank) const noexcept {
  if (number == protocol::root_group) return world_rank;
  const auto found = std::lower_bound(places.begin(), places.end(), std::pair(world_rank, 0));
  return found == places.end() || found->first != world_rank ? -1 : found->second;
}

void engine_core::start_split(waiter& who, const group& parent, int color, int key) {
  const std::lock_guard lock(mutex_);
  errc problem{};
  if (life_ != life::joined) problem = life_ == life::created ? errc::not_joined : errc::closed;
  if (problem == errc{} && (endpoint_->log_is_lost() || !report_link_)) problem = errc::sequencer_lost;
  if (problem != errc{}) {
    ready_.push(finished_operation{&who, problem, {of_split(), {}, nullptr}});
    return schedule();
  }
  splits_[parent.number].push_back(&who);
  report_link_->append(static_cast<std::uint8_t>(log_message::split),
                       split_body{.parent = parent.number, .color = color, .key = key});
  report_dirty_ = true;
  schedule();
}

void engine_core::end_split_wait(waiter& who, bool complete) noexcept {
  const std::lock_guard lock(mutex_);
  for (auto& [parent, waiting] : splits_) {
    const auto found = std::find(waiting.begin(), waiting.end(), &who);
    if (found == waiting.end()) continue;
    *found = nullptr;
    if (!complete) return;
    ready_.push(finished_operation{&who, errc::cancelled, {of_split(), {}, nullptr}});
    return schedule();
  }
  if (!complete) ready_.forget(who);
}

void engine_core::on_split_done(const protocol::split_answer& answer) {
  const group* made = nullptr;
  if (!answer.members.empty()) {
    made = &groups_.emplace_back(answer.group, rank(), answer.members);
    endpoint_->add_group(answer.group, answer.members);
  }
  auto& waiting = splits_[answer.parent];
  if (waiting.empty()) return;
  waiter* who = std::exchange(waiting.front(), nullptr);
  waiting.pop_front();
  if (who == nullptr) return;
  std::string reason;
  if (answer.code != errc{}) reason = "rank " + std::to_string(answer.gone) + " of the engine's group is gone";
  ready_.push(finished_operation{who, make_error_code(answer.code), {of_split(std::move(reason)), {}, made}});
}

void engine_core::fail_splits(errc why) {
  for (auto& [parent, waiting] : splits_)
    for (waiter* who : std::exchange(waiting, {}))
      if (who != nullptr) ready_.push(finished_operation{who, why, {of_split(), {}, nullptr}});
}

}  // namespace weft::detail
