// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/system/error_code.hpp>

#include <cstdint>

/// Awaiting: operations for any completion token and any coroutine, and a coroutine type for those who have none.
namespace weft::coro {

/// What a producer completes: a suspended coroutine, or a handler with its executor. A waiter lives in whoever waits
/// (a coroutine frame, a handler's allocation) and is never owned by the producer.
template <class Raw>
class waiter {
 public:
  waiter(const waiter&) = delete;
  waiter& operator=(const waiter&) = delete;

  /// Called exactly once unless the operation was abandoned; never from inside of the producer's `start`, and never
  /// while the producer holds a lock: it may resume user code. The waiter may be gone when this returns.
  virtual void complete(boost::system::error_code code, Raw&& raw) noexcept = 0;

  /// The producer's own handle of the operation, for `cancel` and `abandon`. Zero: none.
  std::uint64_t operation = 0;

 protected:
  waiter() = default;
  ~waiter() = default;
};

namespace detail {

/// Whether the description of an operation has begun the next of its steps.
template <class Source, class Raw>
[[nodiscard]] bool goes_on(Source& source, waiter<Raw>& who, boost::system::error_code code, Raw& raw) {
  if constexpr (requires { source.go_on(who, code, raw); })
    return source.go_on(who, code, raw);
  else
    return false;
}

}  // namespace detail

}  // namespace weft::coro
