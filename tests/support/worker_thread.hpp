// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <coroutine>
#include <deque>
#include <mutex>
#include <thread>

namespace weft::test {

/// A thread that resumes the coroutines that hop to it, in order. Its destructor waits for those still queued.
class worker_thread {
 public:
  worker_thread() : thread_([this] { work(); }) {}
  worker_thread(const worker_thread&) = delete;
  worker_thread& operator=(const worker_thread&) = delete;
  ~worker_thread() {
    resume_later(nullptr);
    thread_.join();
  }

  class hop_awaiter {
   public:
    explicit hop_awaiter(worker_thread& to) : to_(&to) {}
    [[nodiscard]] bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> coroutine) const { to_->resume_later(coroutine); }
    std::thread::id await_resume() const { return std::this_thread::get_id(); }

   private:
    worker_thread* to_;
  };

  /// `co_await worker.hop()` goes on in this thread, and gives its id.
  [[nodiscard]] hop_awaiter hop() { return hop_awaiter(*this); }

  [[nodiscard]] std::thread::id id() const { return thread_.get_id(); }

 private:
  void resume_later(std::coroutine_handle<> coroutine) {
    const std::lock_guard lock(mutex_);
    queue_.push_back(coroutine);
    added_.notify_one();
  }

  std::coroutine_handle<> next() {
    std::unique_lock lock(mutex_);
    added_.wait(lock, [this] { return !queue_.empty(); });
    const std::coroutine_handle<> coroutine = queue_.front();
    queue_.pop_front();
    return coroutine;
  }

  void work() {
    while (const std::coroutine_handle<> coroutine = next()) coroutine.resume();
  }

  std::mutex mutex_;
  std::condition_variable added_;
  std::deque<std::coroutine_handle<>> queue_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace weft::test
