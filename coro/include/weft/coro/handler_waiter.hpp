// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/coro/block_cache.hpp>
#include <weft/coro/completion.hpp>

#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>

#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace weft::coro {
namespace detail {

/// Whether the producer completes its waiters on the executor that the handler wants.
template <class Source, class SourceExecutor, class Executor>
[[nodiscard]] bool completes_on(const SourceExecutor& own, const Executor& wanted) noexcept {
  if constexpr (requires { requires Source::completes_on_its_executor; } && std::is_same_v<SourceExecutor, Executor>)
    return own == wanted;
  else
    return false;
}

}  // namespace detail

/// The state of an operation that was started with an Asio completion handler: one allocation, with the handler's
/// associated allocator (else from the memory of operations that are over), freed before the
/// handler is called. It counts as outstanding work of the handler's executor.
template <class Source, class Handler>
class handler_waiter final : public waiter<typename Source::raw_type> {
  using raw_type = typename Source::raw_type;
  using result_type = typename Source::result_type;
  using source_executor = std::decay_t<decltype(std::declval<Source&>().get_executor())>;
  using executor_type = boost::asio::associated_executor_t<Handler, source_executor>;
  using work_type = std::decay_t<decltype(boost::asio::prefer(std::declval<executor_type>(),
                                                              boost::asio::execution::outstanding_work.tracked))>;
  using default_allocator = detail::cached_memory<void>;
  using allocator_type = boost::asio::associated_allocator_t<Handler, default_allocator>;
  using rebound_allocator = typename std::allocator_traits<allocator_type>::template rebind_alloc<handler_waiter>;

 public:
  /// Starts the operation. The handler is called once, or dropped uncalled where its executor is destroyed first.
  static void start(Handler handler, Source source) {
    rebound_allocator allocator(boost::asio::get_associated_allocator(handler, default_allocator()));
    handler_waiter* memory = std::allocator_traits<rebound_allocator>::allocate(allocator, 1);
    // The constructor only moves: what it moves has non-throwing moves, as Asio requires of handlers.
    auto* self = ::new (static_cast<void*>(memory)) handler_waiter(std::move(handler), std::move(source));
    self->listen_for_cancellation();
    self->source_.start(*self);
  }

  void complete(boost::system::error_code code, raw_type&& raw) noexcept override {
    if (detail::goes_on(source_, *this, code, raw)) return;
    result_.emplace(source_.finish(code, std::move(raw)));
    code_ = code;
    if (is_completed_where_it_runs_)
      call_here();
    else
      boost::asio::dispatch(work_, deliver(this));
  }

 private:
  /// Runs on the handler's executor, that of `work_`: it has none of its own, which would be asked once more.
  class deliver {
   public:
    using allocator_type = typename handler_waiter::allocator_type;

    explicit deliver(handler_waiter* self) : self_(self) {}
    deliver(deliver&& other) noexcept : self_(std::exchange(other.self_, nullptr)) {}
    // An executor that is destroyed with work in its queue drops this object uncalled.
    ~deliver() {
      if (self_ != nullptr) self_->destroy();
    }

    [[nodiscard]] allocator_type get_allocator() const noexcept {
      return boost::asio::get_associated_allocator(self_->handler_, default_allocator());
    }

    void operator()() { std::exchange(self_, nullptr)->call(); }

   private:
    handler_waiter* self_;
  };

  handler_waiter(Handler&& handler, Source&& source)
      : handler_waiter(std::move(handler), std::move(source), source.get_executor()) {}
  handler_waiter(Handler&& handler, Source&& source, const source_executor& default_executor)
      : handler_waiter(std::move(handler), std::move(source), default_executor,
                       boost::asio::get_associated_executor(handler, default_executor)) {}
  handler_waiter(Handler&& handler, Source&& source, const source_executor& default_executor,
                 const executor_type& executor)
      : source_(std::move(source)),
        handler_(std::move(handler)),
        work_(boost::asio::prefer(executor, boost::asio::execution::outstanding_work.tracked)),
        is_completed_where_it_runs_(detail::completes_on<Source>(default_executor, executor)) {}
  ~handler_waiter() = default;

  /// What a dispatch would come to, without its cost: what the handler throws comes out of the executor's `run`.
  void call_here() noexcept {
    const work_type work(std::move(work_));
    try {
      call();
    } catch (...) {
      boost::asio::post(work, [thrown = std::current_exception()] { std::rethrow_exception(thrown); });
    }
  }

  /// On the handler's executor, where the slot may be cleared without racing with the one who emits the signal.
  void call() {
    if (auto slot = boost::asio::get_associated_cancellation_slot(handler_); slot.is_connected()) slot.clear();
    Handler handler(std::move(handler_));
    const boost::system::error_code code = code_;
    result_type result(std::move(*result_));
    // Freed first, so that the handler's next operation finds the memory again.
    destroy_after_move(handler);
    std::move(handler)(code, std::move(result));
  }

  void listen_for_cancellation() {
    auto slot = boost::asio::get_associated_cancellation_slot(handler_);
    if (!slot.is_connected()) return;
    slot.assign([this](boost::asio::cancellation_type kinds) { source_.cancel(*this, kinds); });
  }

  void destroy() { destroy_after_move(handler_); }

  void destroy_after_move(Handler& handler) {
    rebound_allocator allocator(boost::asio::get_associated_allocator(handler, default_allocator()));
    this->~handler_waiter();
    std::allocator_traits<rebound_allocator>::deallocate(allocator, this, 1);
  }

  Source source_;
  Handler handler_;
  work_type work_;
  bool is_completed_where_it_runs_;
  boost::system::error_code code_;
  std::optional<result_type> result_;
};

}  // namespace weft::coro
