// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/coro/completion.hpp>
#include <weft/coro/coroutine_waiter.hpp>
#include <weft/coro/handler_waiter.hpp>

#include <boost/asio/async_result.hpp>
#include <boost/asio/cancellation_type.hpp>

#include <concepts>
#include <utility>

namespace weft::coro {

/// What `async_operation` asks of the description of an operation:
/// - `raw_type`: what the producer completes with; `result_type`: what the user gets;
/// - `check()` throws where it cannot be started, because it was started or moved from before;
/// - `start(waiter)` begins it, `cancel(waiter, kinds)` asks for an early end (the waiter is still completed once),
///   `abandon(waiter)` says that the waiter goes away uncompleted;
/// - `finish(code, raw)` turns one into the other, and may turn success into an error;
/// - `go_on(waiter, code, raw)`, which it may have: an operation of several steps answers `true` where it has begun the
///   next one, and the waiter is completed again;
/// - `result_type::raise(code)` throws the error that a failed `co_await` throws;
/// - `get_executor()`: where handlers without an executor of their own run;
/// - `completes_on_its_executor`, which it may have: `true` where the producer completes waiters on that executor only,
///   so that handlers of the same one are called without a dispatch.
template <class S>
concept operation_source = std::move_constructible<S> &&
    requires(S source, waiter<typename S::raw_type>& who, boost::system::error_code code, typename S::raw_type raw,
             const typename S::result_type& result) {
  source.check();
  source.start(who);
  source.cancel(who, boost::asio::cancellation_type::total);
  source.abandon(who);
  { source.finish(code, std::move(raw)) } -> std::same_as<typename S::result_type>;
  result.raise(code);
  source.get_executor();
};

/// A lazy operation: nothing happens until it is awaited or called with a completion token. It starts once, so one that
/// has a name is moved: `co_await std::move(operation)`, `std::move(operation)(token)`. Where it is moved twice, the
/// second start throws what the description's `check` throws (under asio::awaitable out of the executor's `run`).
///
/// It is awaitable in any coroutine (asio::awaitable, which calls it with a token of its own, and any other task type,
/// which uses `operator co_await`), and callable with any Asio completion token. The token's associated executor,
/// allocator and cancellation slot are honoured; what each type of cancellation does is the description's affair. No
/// handler runs inside of the initiating call.
template <operation_source Source>
class [[nodiscard]] async_operation {
 public:
  /// What awaiting it yields, and what a handler gets beside the code.
  using result_type = typename Source::result_type;
  /// Of a completion handler.
  using signature = void(boost::system::error_code, result_type);

  /// The operation that `source` describes.
  explicit async_operation(Source source) : source_(std::move(source)) {}

  /// Starts the operation. Constrained, because an unconstrained operator makes a bare `co_await` ill-formed in
  /// asio::awaitable: it probes the operator with a token that must be rejected softly.
  template <boost::asio::completion_token_for<signature> Token>
  auto operator()(Token&& token) && {
    source_.check();
    return boost::asio::async_initiate<Token, signature>(
        []<class Handler>(Handler&& handler, Source source) {
          handler_waiter<Source, std::decay_t<Handler>>::start(std::forward<Handler>(handler), std::move(source));
        },
        token, std::move(source_));
  }

  /// An operation starts once, so one that has a name is moved: `std::move(operation)(token)`.
  template <boost::asio::completion_token_for<signature> Token>
  void operator()(Token&& token) & = delete;

  /// For task types other than asio::awaitable: the coroutine is resumed by the engine's own poll.
  auto operator co_await() && {
    source_.check();
    return coroutine_waiter<Source>(std::move(source_));
  }

 private:
  Source source_;
};

}  // namespace weft::coro
