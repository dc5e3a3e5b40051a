// SPDX-License-Identifier: Apache-2.0
// The device for the application's own use: all ranks of a group ask, the sequencer finds it a place in the log, and
// the launch thread lends the device when it comes to that.
#include "engine_core.hpp"

#include "protocol/messages.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace weft::detail {
namespace {

operation_details of_lease(std::string reason = {}) {
  operation_details details;
  details.operation = operation_kind::lease;
  details.reason = std::move(reason);
  return details;
}

}  // namespace

void engine_core::start_lease(waiter& who, const group& within) {
  const std::lock_guard lock(mutex_);
  errc problem{};
  if (life_ != life::joined) problem = life_ == life::created ? errc::not_joined : errc::closed;
  if (problem == errc{} && (endpoint_->log_is_lost() || !report_link_)) problem = errc::sequencer_lost;
  if (problem == errc{}) {
    const std::uint64_t name = next_lease_wish_++;
    lease_wishes_.emplace(name, lease_wish{&who, &within});
    report_link_->append(static_cast<std::uint8_t>(log_message::lease_wish), lease_wish_body{within.number, name});
    report_dirty_ = true;
  } else {
    ready_.push(finished_operation{&who, problem, {of_lease(), {}, nullptr}});
  }
  schedule();
}

// Whether it can be taken back only the sequencer knows: where all members have asked, the others count on this one.
void engine_core::end_lease_wait(waiter& who, bool complete) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::find_if(lease_wishes_.begin(), lease_wishes_.end(), [&](const auto& one) { return one.second.who == &who; });
  if (found == lease_wishes_.end()) {
    if (!complete) ready_.forget(who);
    return;
  }
  if (!complete) found->second.who = nullptr;
  withdraw_lease(found->first, found->second);
  schedule();
}

void engine_core::withdraw_lease(std::uint64_t name, lease_wish& wish) {
  if (std::exchange(wish.is_withdrawn, true) || !report_link_) return;
  report_link_->append(static_cast<std::uint8_t>(log_message::withdraw_lease),
                       lease_wish_body{wish.within->number, name});
  report_dirty_ = true;
}

bool engine_core::on_lease_ended(std::span<const std::byte> body) {
  const auto ended = protocol::parse<lease_ended_body>(body);
  if (!ended) return false;
  end_lease_wish(ended->wish, make_error_code(static_cast<errc>(ended->code)), ended->gone);
  return true;
}

// A lease that nobody waits for is given back here.
void engine_core::take_lease(std::uint64_t name, held_lease lease) {
  const auto found = lease_wishes_.find(name);
  if (found == lease_wishes_.end()) return;
  for (const int member : found->second.within->members)
    if (const auto why = noticed_gone_[static_cast<std::size_t>(member)])
      return end_lease_wish(name, make_error_code(*why), member);
  end_lease_wish(name, {}, -1, std::move(lease));
}

void engine_core::end_lease_wish(std::uint64_t name, boost::system::error_code code, int gone, held_lease lease) {
  const auto node = lease_wishes_.extract(name);
  if (node.empty() || node.mapped().who == nullptr) return;
  operation_details details = of_lease();
  if (gone >= 0) {
    details.peer = node.mapped().within->rank_of(gone);
    details.reason = "rank " + std::to_string(details.peer) + " of the group is gone";
  }
  ready_.push(finished_operation{node.mapped().who, code, {.details = std::move(details), .lease = std::move(lease)}});
}

// Others who still may ask for the same ones are not to have them without this rank.
void engine_core::fail_leases(errc why) {
  while (!lease_wishes_.empty()) {
    const auto first = lease_wishes_.begin();
    if (life_ == life::closing) withdraw_lease(first->first, first->second);
    end_lease_wish(first->first, why, -1);
  }
}

}  // namespace weft::detail
