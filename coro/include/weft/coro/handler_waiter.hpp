// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/coro/completion.hpp>

#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/recycling_allocator.hpp>

#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace weft::coro {

/// The state of an operation that was started with an Asio completion handler: one allocation, with the handler's
/// associated allocator (else with Asio's own, which finds the memory of the operation before), freed before the
/// handler is called. It counts as outstanding work of the handler's executor.
template <class Source, class Handler>
class handler_waiter final : public waiter<typename Source::raw_type> {
  using raw_type = typename Source::raw_type;
  using result_type = typename Source::result_type;
  using source_executor = std::decay_t<decltype(std::declval<Source&>().get_executor())>;
  using executor_type = boost::asio::associated_executor_t<Handler, source_executor>;
  using work_type = std::decay_t<decltype(boost::asio::prefer(std::declval<executor_type>(),
                                                              boost::asio::execution::outstanding_work.tracked))>;
  using default_allocator = boost::asio::recycling_allocator<void>;
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
    boost::asio::dispatch(work_, deliver(this));
  }

 private:
  /// Runs on the handler's executor, where the slot may be cleared without racing with the one who emits the signal.
  class deliver {
   public:
    using executor_type = typename handler_waiter::executor_type;
    using allocator_type = typename handler_waiter::allocator_type;

    explicit deliver(handler_waiter* self) : self_(self) {}
    deliver(deliver&& other) noexcept : self_(std::exchange(other.self_, nullptr)) {}
    // An executor that is destroyed with work in its queue drops this object uncalled.
    ~deliver() {
      if (self_ != nullptr) self_->destroy();
    }

    [[nodiscard]] executor_type get_executor() const noexcept {
      return boost::asio::get_associated_executor(self_->handler_, self_->source_.get_executor());
    }
    [[nodiscard]] allocator_type get_allocator() const noexcept {
      return boost::asio::get_associated_allocator(self_->handler_, default_allocator());
    }

    void operator()() {
      handler_waiter* self = std::exchange(self_, nullptr);
      if (auto slot = boost::asio::get_associated_cancellation_slot(self->handler_); slot.is_connected()) slot.clear();
      Handler handler(std::move(self->handler_));
      const boost::system::error_code code = self->code_;
      result_type result(std::move(*self->result_));
      // Freed first, so that the handler's next operation finds the memory again.
      self->destroy_after_move(handler);
      std::move(handler)(code, std::move(result));
    }

   private:
    handler_waiter* self_;
  };

  handler_waiter(Handler&& handler, Source&& source)
      : source_(std::move(source)),
        handler_(std::move(handler)),
        work_(boost::asio::prefer(boost::asio::get_associated_executor(handler_, source_.get_executor()),
                                  boost::asio::execution::outstanding_work.tracked)) {}
  ~handler_waiter() = default;

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
  boost::system::error_code code_;
  std::optional<result_type> result_;
};

}  // namespace weft::coro
