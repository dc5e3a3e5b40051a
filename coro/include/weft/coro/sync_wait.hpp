// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/coro/awaitable_traits.hpp>
#include <weft/coro/child.hpp>

#include <condition_variable>
#include <coroutine>
#include <mutex>
#include <utility>

namespace weft::coro {
namespace detail {

class blocking_latch {
 public:
  std::coroutine_handle<> arrive() noexcept {
    // Notified under the lock: the waiter destroys this object as soon as it gets the lock and sees the flag.
    const std::lock_guard lock(mutex_);
    arrived_ = true;
    changed_.notify_one();
    return std::noop_coroutine();
  }

  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return arrived_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool arrived_ = false;
};

}  // namespace detail

/// Awaits in a thread that is no coroutine: starts the awaitable, blocks the calling thread until it has completed, and
/// returns its value or throws its exception. An lvalue is awaited in place, an rvalue is awaited as one.
///
/// Precondition: the awaitable completes without the calling thread. Waiting on the only thread of an executor for
/// something that the executor has yet to run never returns.
template <class A>
requires awaitable<A> await_result_t<A> sync_wait(A&& what) {
  detail::blocking_latch done;
  auto child = detail::make_child<detail::blocking_latch, A&&>(std::forward<A>(what));
  child.start(done);
  done.wait();
  return child.result().take();
}

}  // namespace weft::coro
