// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/coro/cuda/category.hpp>
#include <weft/coro/cuda/event_lanes.hpp>
#include <weft/coro/cuda/event_pool.hpp>
#include <weft/coro/cuda/poller_options.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace weft::coro::cuda::detail {

/// What a `poller` and its threads share. Completions go through a queue to the executor, so none runs inside of the
/// call that starts an operation, nor under the lock. Shared, because the last completion may end the poller.
class event_monitor : public std::enable_shared_from_this<event_monitor> {
 public:
  event_monitor(boost::asio::any_io_executor executor, const poller_options& options)
      : options_(options),
        executor_(std::move(executor)),
        pool_(options.events, options.mode == waiting::blocking ? cudaEventBlockingSync : cudaEventDefault) {}

  [[nodiscard]] const boost::asio::any_io_executor& executor() const noexcept { return executor_; }

  /// Without an event, one is recorded on the stream.
  void start(waiter<reached>& who, cudaStream_t stream, cudaEvent_t event) {
    const entry in(*this);
    who.operation = ++last_number_;
    if (waiters_++ == 0) work_ = boost::asio::prefer(executor_, boost::asio::execution::outstanding_work.tracked);
    awaited_event wanted{who.operation, &who, event};
    if (event != nullptr) {
      add(stream, wanted);
    } else if (wanted.event = unrecorded_.empty() ? pool_.take() : nullptr; wanted.event != nullptr) {
      record(stream, wanted);
    } else {
      unrecorded_.push_back({stream, wanted});
    }
  }

  /// The waiter completes as aborted, unless it is about to complete anyway.
  void cancel(waiter<reached>& who) {
    const entry in(*this);
    if (withdraw(who)) complete_later(&who, boost::asio::error::operation_aborted);
  }

  /// The waiter is not completed.
  void abandon(waiter<reached>& who) {
    const entry in(*this);
    const bool was_ready = std::erase_if(ready_, [&](const auto& each) { return each.first == &who; }) > 0;
    if (was_ready || withdraw(who)) forget_waiter();
  }

  void stop() {
    const entry in(*this);
    stopping_ = true;
    changed_.notify_all();
  }

  /// The work of the thread that asks.
  void poll() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      if (lanes_.empty()) {
        changed_.wait(lock);
        continue;
      }
      lanes_.collect([this](const awaited_event& done, cudaError_t code) { finish(done, code); });
      pause(lock);
    }
  }

  /// The work of a thread that blocks.
  void block() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      awaited_event* next = lanes_.oldest_unwatched();
      if (next == nullptr) {
        changed_.wait(lock);
        continue;
      }
      next->watched = true;
      const auto [number, event] = std::pair(next->number, next->event);
      lock.unlock();
      const cudaError_t code = cudaEventSynchronize(event);
      lock.lock();
      const awaited_event done = *lanes_.find(number);  // what is watched stays
      lanes_.erase(number);
      finish(done, code);
    }
  }

 private:
  using clock = std::chrono::steady_clock;
  /// After so many completions in one go the executor has its turn.
  static constexpr int completions_per_turn = 256;

  /// The lock, for all but the thread that asks: that one, which holds it most of the time, lets the others in first.
  class entry {
   public:
    explicit entry(event_monitor& to) : to_(to) {
      // Relaxed: a hint; the mutex orders.
      to_.entering_.fetch_add(1, std::memory_order_relaxed);
      to_.mutex_.lock();
      to_.entering_.fetch_sub(1, std::memory_order_relaxed);
    }
    entry(const entry&) = delete;
    entry& operator=(const entry&) = delete;
    ~entry() { to_.mutex_.unlock(); }

   private:
    event_monitor& to_;
  };

  struct unrecorded {
    cudaStream_t stream;
    awaited_event wanted;
  };

  void add(cudaStream_t stream, const awaited_event& wanted) {
    lanes_.add(stream, wanted);
    last_news_ = clock::now();
    changed_.notify_one();
  }

  void record(cudaStream_t stream, awaited_event wanted) {
    wanted.pooled = true;
    if (const auto code = cudaEventRecord(wanted.event, stream); code != cudaSuccess) return finish(wanted, code);
    add(stream, wanted);
  }

  void finish(const awaited_event& done, cudaError_t code) {
    last_news_ = clock::now();
    // Before the waiter goes on, so that its next wait finds the event again.
    if (done.pooled) pool_.give_back(done.event);
    if (done.who != nullptr) complete_later(done.who, make_error_code(code));
    if (unrecorded_.empty()) return;
    unrecorded next = unrecorded_.front();
    next.wanted.event = pool_.take();
    if (next.wanted.event == nullptr) return;
    unrecorded_.pop_front();
    record(next.stream, next.wanted);
  }

  /// True if it was waiting. A recording of ours, and what a thread is blocked on, stays until it is done.
  bool withdraw(waiter<reached>& who) {
    const auto is_it = [&](const unrecorded& each) { return each.wanted.who == &who; };
    if (std::erase_if(unrecorded_, is_it) > 0) return true;
    awaited_event* found = lanes_.find(who.operation);
    if (found == nullptr || found->who == nullptr) return false;
    found->who = nullptr;
    if (!found->pooled && !found->watched) lanes_.erase(who.operation);
    return true;
  }

  void complete_later(waiter<reached>* who, boost::system::error_code code) {
    ready_.emplace_back(who, code);
    if (!std::exchange(delivering_, true)) post_delivery();
  }

  void post_delivery() {
    boost::asio::post(executor_, [self = shared_from_this()] { self->deliver(); });
  }

  void deliver() {
    for (int i = 0; i < completions_per_turn; ++i) {
      const auto next = pop_ready();
      if (!next) return;
      next->first->complete(next->second, reached());
    }
    post_delivery();
  }

  std::optional<std::pair<waiter<reached>*, boost::system::error_code>> pop_ready() {
    const entry in(*this);
    delivering_ = !ready_.empty();
    if (!delivering_) return std::nullopt;
    const auto next = ready_.front();
    ready_.pop_front();
    forget_waiter();
    return next;
  }

  void forget_waiter() {
    if (--waiters_ == 0) work_.reset();
  }

  /// Between two questions: spins, yields or sleeps, the longer nothing has happened.
  void pause(std::unique_lock<std::mutex>& lock) {
    const auto quiet = clock::now() - last_news_;
    if (quiet >= options_.spin_for + options_.yield_for) {
      changed_.wait_for(lock, options_.sleep_for);
      return;
    }
    lock.unlock();
    const bool spin = quiet < options_.spin_for && entering_.load(std::memory_order_relaxed) == 0;
    if (!spin) std::this_thread::yield();
    lock.lock();
  }

  const poller_options options_;
  const boost::asio::any_io_executor executor_;
  std::atomic<int> entering_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  event_pool pool_;
  event_lanes lanes_;
  std::deque<unrecorded> unrecorded_;  ///< waits that found no event in the pool
  std::deque<std::pair<waiter<reached>*, boost::system::error_code>> ready_;
  std::size_t waiters_ = 0;
  std::optional<boost::asio::any_io_executor> work_;  ///< keeps the executor running while somebody waits
  std::uint64_t last_number_ = 0;
  clock::time_point last_news_ = clock::now();
  bool delivering_ = false;
  bool stopping_ = false;
};

}  // namespace weft::coro::cuda::detail
