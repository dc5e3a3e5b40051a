// SPDX-License-Identifier: Apache-2.0
// Turns: who may touch the engine when, and how user code learns of what has happened.
#include "engine_core.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>

namespace weft::detail {
namespace {

// User callbacks in one go, before the executor gets its turn: a coroutine whose sends complete at once could otherwise
// keep the loop for ever.
constexpr int most_deliveries = 256;

// The engine that this thread delivers for: what becomes ready meanwhile is delivered by the same loop.
thread_local const engine_core* delivering = nullptr;

struct call_user {
  void operator()(const late_failure& item) const {
    if (options.late_error) options.late_error(item.code, item.details);
  }
  void operator()(const log_line& item) const {
    if (options.log) options.log(item.level, item.text);
  }
  const engine_options& options;
};

}  // namespace

void engine_core::begin_turn() {
  mutex_.lock();
}

void engine_core::end_turn() {
  // Answers of the protocol do not wait for user code, which may take its time.
  flush_links();
  check_drained();
  run_ready(std::unique_lock(mutex_, std::adopt_lock));
  watch_links();
}

// After an event that came from user code, which must not be called back before it returns. Under the lock.
void engine_core::schedule() {
  check_drained();
  if (run_posted_ || delivering == this) return;
  run_posted_ = true;
  boost::asio::post(executor_, [self = shared_from_this()] {
    std::unique_lock lock(self->mutex_);
    self->run_posted_ = false;
    self->run_ready(std::move(lock));
    self->watch_links();
  });
}

// From under the lock, which is given up for as long as user code runs. Code that has sent something may go on to
// compute for long: before it hears that the send is over, what was sent is written. In rounds, so that many sends are
// one write.
void engine_core::run_ready(std::unique_lock<std::mutex> lock) {
  if (delivering == this) return;
  const engine_core* outer = std::exchange(delivering, this);
  std::size_t round = 0;
  for (int budget = most_deliveries; budget != 0 && !ready_.empty(); --budget) {
    if (round == 0) {
      flush_links();
      round = ready_.size();
    }
    --round;
    deliver_one(lock);
    lock.lock();
  }
  delivering = outer;
  flush_links();
  if (!ready_.empty()) schedule();
}

void engine_core::deliver_one(std::unique_lock<std::mutex>& lock) {
  ready_queue::item next = ready_.pop();
  lock.unlock();
  if (next.finished.waiter != nullptr)
    next.finished.waiter->complete(next.finished.code, std::move(next.finished.result));
  else
    std::visit(call_user{options_}, *next.other);
}

void engine_core::flush_links() {
  links_.flush();
  if (report_dirty_ && report_link_) report_link_->flush();
  report_dirty_ = false;
}

// close waits for operations to end, and for links to have written what they hold.
void engine_core::check_drained() {
  if (life_ == life::closing) changed_.notify();
}

// ---- deadlines

void engine_core::set_deadline(std::uint32_t slot, std::chrono::nanoseconds limit) {
  using clock = std::chrono::steady_clock;
  const auto now = clock::now();
  if (limit >= clock::time_point::max() - now) return;
  deadlines_.add(slot, now + limit);
  arm_deadline_timer();
}

// Most deadlines are met, so the timer is not moved to a later one when the earliest goes: it looks again when it
// fires.
void engine_core::arm_deadline_timer() {
  const auto earliest = deadlines_.earliest();
  if (!earliest || *earliest >= armed_for_ || life_ == life::ended) return;
  armed_for_ = *earliest;
  deadline_timer_.expires_at(armed_for_);
  deadline_timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& code) {
    const auto self = weak.lock();
    if (code || !self) return;
    self->begin_turn();
    self->armed_for_ = std::chrono::steady_clock::time_point::max();
    const auto now = std::chrono::steady_clock::now();
    while (const auto slot = self->deadlines_.pop_expired(now))
      self->end_early(self->endpoint_->name_of(*slot), errc::timed_out, true);
    self->arm_deadline_timer();
    self->end_turn();
  });
}

// ---- the launch thread's news

void engine_core::on_launch_news() {
  boost::asio::post(executor_, [self = shared_from_this()] {
    self->begin_turn();
    self->take_launch_news();
    self->end_turn();
  });
}

void engine_core::take_launch_news() {
  if (!launch_) return;
  for (const launch_news& news : launch_->take_news()) {
    switch (news.what) {
      case launch_news::kind::transferred:
        endpoint_->on_transferred(news.operation, news.code, actions_);
        break;
      case launch_news::kind::leased:
        take_lease(news.operation, held_lease(launch_->desk()));
        break;
      case launch_news::kind::chore_done:
        chore_done(news.operation, news.code);
        break;
      case launch_news::kind::rank_gone:
        noticed_gone_[static_cast<std::size_t>(news.rank)] = news.why;
        // A link that stands, or is about to, says itself when it ends, after what it still has to deliver.
        if (links_.at(news.rank).state == link_state::none) peer_gone(news.rank, news.why);
        break;
      case launch_news::kind::log_lost:
        endpoint_->on_log_lost(actions_);
        fail_splits(errc::sequencer_lost);
        fail_reservations(errc::sequencer_lost);
        fail_leases(errc::sequencer_lost);
        if (life_ == life::joined) log(log_level::warning, "rank 0 is gone: device and pair transfers are unusable");
        break;
      case launch_news::kind::group_opened:
        ++stats_.group_communicators;
        log(log_level::info, news.text);
        break;
      case launch_news::kind::pair_opened:
        stats_.pair_communicators.emplace_back(std::min(rank(), news.rank), std::max(rank(), news.rank));
        log(log_level::info, news.text);
        break;
      case launch_news::kind::pair_gone:
        std::erase(stats_.pair_communicators, std::pair(std::min(rank(), news.rank), std::max(rank(), news.rank)));
        break;
      case launch_news::kind::batch_issued:
        ++stats_.batches;
        break;
      case launch_news::kind::left:
        log_left_ = true;
        changed_.notify();
        break;
      case launch_news::kind::problem:
        log(log_level::warning, news.text);
        break;
    }
    perform();
  }
}

void engine_core::log(log_level level, std::string text) {
  ready_.push(log_line{level, std::move(text)});
}

}  // namespace weft::detail
