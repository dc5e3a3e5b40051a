// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/coro/asio_awaitable.hpp>
#include <weft/coro/async_operation.hpp>
#include <weft/coro/cuda/event_monitor.hpp>

#include <boost/asio/cancellation_type.hpp>

#include <cassert>

namespace weft::coro::cuda {
namespace detail {

/// Describes one wait.
class event_source {
 public:
  using raw_type = reached;
  using result_type = reached;

  event_source(event_monitor& monitor, cudaStream_t stream, cudaEvent_t event)
      : monitor_(&monitor), stream_(stream), event_(event) {}

  void check() const noexcept {}  // a wait takes nothing along, and so may start again
  void start(waiter<reached>& who) { monitor_->start(who, stream_, event_); }
  void cancel(waiter<reached>& who, boost::asio::cancellation_type) { monitor_->cancel(who); }
  void abandon(waiter<reached>& who) { monitor_->abandon(who); }
  [[nodiscard]] reached finish(boost::system::error_code, reached&& raw) const { return raw; }
  [[nodiscard]] const boost::asio::any_io_executor& get_executor() const noexcept { return monitor_->executor(); }

 private:
  event_monitor* monitor_;
  cudaStream_t stream_;
  cudaEvent_t event_;
};

}  // namespace detail

/// Awaiting one event or stream.
using wait_operation = async_operation<detail::event_source>;

/// Awaits CUDA events and streams of one device: `co_await poller.when_done(stream)`, in any coroutine, or with any
/// completion token of Asio's. Coroutines other than Asio's, and handlers without an executor of their own, go on in
/// the poller's executor.
///
/// An error of the device ends a wait with a code of `error_category()`; awaiting throws it as a
/// boost::system::system_error. Cancellation of any type ends a wait at once, with operation_aborted. It takes nothing
/// back on the GPU.
///
/// Any thread may start and cancel waits. Destroying a coroutine that waits is safe where it cannot be resumed at the
/// same time, as in a thread of the executor if that has only one.
class poller {
 public:
  /// For the calling thread's device. Throws boost::system::system_error with a code of CUDA's, such as
  /// cudaErrorInsufficientDriver where there is no GPU.
  explicit poller(boost::asio::any_io_executor executor, const poller_options& options = {})
      : monitor_(std::make_shared<detail::event_monitor>(std::move(executor), options)) {
    int device = 0;
    cudaGetDevice(&device);
    const bool blocking = options.mode == waiting::blocking;
    for (std::size_t i = 0; i < (blocking ? options.threads : 1); ++i)
      threads_.emplace_back([monitor = monitor_, device, blocking] {
        cudaSetDevice(device);
        blocking ? monitor->block() : monitor->poll();
      });
  }
  poller(const poller&) = delete;
  poller& operator=(const poller&) = delete;
  /// Precondition: nobody waits. Where threads block, it waits for what they are blocked on, also for cancelled waits.
  ~poller() {
    monitor_->stop();
    for (std::thread& each : threads_) each.join();
  }

  /// Everything that is on the stream when the wait starts. The stream must live until then. If all events of the pool
  /// are in use, it is everything that is there when one comes free.
  ///
  /// A non-blocking NCCL group is on its stream only after its communicator has reported success.
  [[nodiscard]] wait_operation when_done(cudaStream_t stream) {
    return wait_operation(detail::event_source(*monitor_, stream, nullptr));
  }

  /// The last recording of the event. One that was never recorded is done. It must live until the wait ends; where
  /// threads block, until it is done, and it should be made with cudaEventBlockingSync.
  [[nodiscard]] wait_operation when_done(cudaEvent_t event) { return when_done(event, nullptr); }

  /// The same, cheaper for many events: those of one stream are done in the order in which they were recorded, and only
  /// the oldest is asked for. Precondition: waits for them start in that order.
  [[nodiscard]] wait_operation when_done(cudaEvent_t event, cudaStream_t recorded_on) {
    assert(event != nullptr && "an event is awaited after it was created");
    return wait_operation(detail::event_source(*monitor_, recorded_on, event));
  }

 private:
  std::shared_ptr<detail::event_monitor> monitor_;
  std::vector<std::thread> threads_;
};

}  // namespace weft::coro::cuda
