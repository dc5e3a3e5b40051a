// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/coro/completion.hpp>

#include <coroutine>
#include <optional>
#include <utility>

namespace weft::coro {

/// The awaiter of an operation in a coroutine: the operation's state lives in the coroutine frame, nothing is
/// allocated. Destroying the coroutine while it waits abandons the operation.
template <class Source>
class coroutine_waiter final : public waiter<typename Source::raw_type> {
 public:
  using raw_type = typename Source::raw_type;        ///< what the producer completes with
  using result_type = typename Source::result_type;  ///< what awaiting yields

  /// Waits for what `source` describes; it starts when the coroutine has suspended.
  explicit coroutine_waiter(Source&& source) : source_(std::move(source)) {}

  ~coroutine_waiter() {
    if (waiting_) source_.abandon(*this);
  }

  /// Called by `co_await`, which yields the result, or throws what its `raise` throws.
  /// @{
  [[nodiscard]] bool await_ready() const noexcept { return false; }

  void await_suspend(std::coroutine_handle<> coroutine) {
    coroutine_ = coroutine;
    waiting_ = true;
    // Another thread may complete the operation, and resume the coroutine, before `start` returns: nothing of this
    // object may be touched afterwards.
    source_.start(*this);
  }

  result_type await_resume() {
    if (code_) result_->raise(code_);
    return std::move(*result_);
  }
  /// @}

  void complete(boost::system::error_code code, raw_type&& raw) noexcept override {
    // Where it goes on, another thread may have completed it and resumed the coroutine when this returns.
    if (detail::goes_on(source_, *this, code, raw)) return;
    waiting_ = false;
    result_.emplace(source_.finish(code, std::move(raw)));
    code_ = code;
    coroutine_.resume();
  }

 private:
  Source source_;
  std::coroutine_handle<> coroutine_;
  bool waiting_ = false;
  boost::system::error_code code_;
  std::optional<result_type> result_;
};

}  // namespace weft::coro
