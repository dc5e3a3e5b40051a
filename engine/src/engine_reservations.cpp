// SPDX-License-Identifier: Apache-2.0
// Pair communicators that are made ahead of their use: the sequencer has it done, and says when it is.
#include "engine_core.hpp"

#include "protocol/messages.hpp"

#include <algorithm>
#include <utility>

namespace weft::detail {
namespace {

using protocol::reservation_end;

errc code_of(reservation_end end) {
  switch (end) {
    case reservation_end::made:
      return errc{};
    case reservation_end::peer_lost:
      return errc::peer_lost;
    case reservation_end::peer_left:
      return errc::peer_left;
    case reservation_end::no_room:
    case reservation_end::failed:
      break;
  }
  return errc::set_up_failed;
}

}  // namespace

void engine_core::start_reserve(waiter& who, const group& within, std::span<const int> peers) {
  const std::lock_guard lock(mutex_);
  reservation wanted{&who, &within, {}, {}, {}};
  wanted.details.operation = operation_kind::reserve;
  if (life_ != life::joined)
    wanted.code = life_ == life::created ? errc::not_joined : errc::closed;
  else if (endpoint_->log_is_lost() || !report_link_)
    wanted.code = errc::sequencer_lost;
  for (const int peer : peers) {
    if (wanted.code) break;
    wanted.details.peer = peer;
    if (within.has(peer) && peer != within.rank) {
      wanted.open.push_back(within.members[static_cast<std::size_t>(peer)]);
      continue;
    }
    wanted.code = peer == within.rank ? errc::invalid_option : errc::rank_out_of_range;
    wanted.details.reason = peer == within.rank
                                ? "there is no pair of one rank, and this is rank " + std::to_string(peer)
                                : "there are ranks 0 to " + std::to_string(within.size() - 1);
  }
  if (!wanted.code) {
    wanted.details.peer = -1;
    for (const int peer : wanted.open)
      report_link_->append(static_cast<std::uint8_t>(log_message::reserve), reserve_body{peer, 0});
    report_dirty_ = true;
  } else {
    wanted.open.clear();
  }
  reservations_.push_back(std::move(wanted));
  if (reservations_.back().open.empty()) end_reservation(reservations_.size() - 1, reservations_.back().code);
  schedule();
}

// What is true of a pair is so for all who wait for it.
bool engine_core::on_reserved(std::span<const std::byte> body) {
  const auto answer = protocol::parse<reserve_body>(body);
  if (!answer || answer->peer < 0 || answer->peer >= world_size()) return false;
  if (answer->end > static_cast<std::uint32_t>(reservation_end::peer_left)) return false;
  const auto end = static_cast<reservation_end>(answer->end);
  const errc code = code_of(end);
  for (std::size_t i = reservations_.size(); i-- > 0;) {
    reservation& one = reservations_[i];
    if (std::erase(one.open, answer->peer) == 0) continue;
    if (code != errc{} && !one.code) {
      one.code = code;
      one.details.peer = one.within->rank_of(answer->peer);
      if (end == reservation_end::no_room)
        one.details.reason = "one of the two ranks has pair_budget (" + std::to_string(options_.pair_budget) +
                             " here) pairs in use, or used lately, or no room for more in pair_budget_bytes (" +
                             std::to_string(options_.pair_budget_bytes) + " here)";
    }
    if (one.open.empty()) end_reservation(i, one.code);
  }
  return true;
}

void engine_core::end_reservation(std::size_t index, boost::system::error_code code) {
  reservation& ended = reservations_[index];
  ready_.push(finished_operation{ended.who, code, {std::move(ended.details), {}, nullptr}});
  reservations_.erase(reservations_.begin() + static_cast<std::ptrdiff_t>(index));
}

void engine_core::end_reserve_wait(waiter& who, bool complete) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::find_if(reservations_.begin(), reservations_.end(), [&](const reservation& one) { return one.who == &who; });
  if (found == reservations_.end()) {
    if (!complete) ready_.forget(who);
  } else if (complete) {
    end_reservation(static_cast<std::size_t>(found - reservations_.begin()), errc::cancelled);
    schedule();
  } else {
    reservations_.erase(found);
  }
}

void engine_core::fail_reservations(errc why) {
  while (!reservations_.empty()) end_reservation(reservations_.size() - 1, why);
}

}  // namespace weft::detail
