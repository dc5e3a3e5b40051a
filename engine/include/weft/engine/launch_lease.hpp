// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/engine/detail/core.hpp>
#include <weft/engine/error.hpp>
#include <weft/engine/operation_details.hpp>

#include <boost/system/error_code.hpp>

#include <utility>

namespace weft {

/// This rank's device, lent to the application by `communicator::launch_lease` until this is released or destroyed:
/// weft has nothing under way on it and starts nothing. Moved, not copied; released from any thread.
class launch_lease {
 public:
  static constexpr bool raises = true;  ///< a failed `co_await` calls `raise`
  operation_details details;            ///< of the operation, also of one that failed

  /// Holds nothing.
  launch_lease() = default;
  /// Called where the operation completes.
  launch_lease(detail::held_lease lease, operation_details ended)
      : details(std::move(ended)), lease_(std::move(lease)) {}

  /// Whether the device is lent: not so after a release, and in what was moved from.
  explicit operator bool() const noexcept { return lease_.is_held(); }

  /// Gives the device back. What the application has launched on it must have ended. Without effect where nothing is
  /// held.
  void release() noexcept { lease_.give_back(); }

  /// Throws the `weft::error` of a failed lease.
  [[noreturn]] void raise(boost::system::error_code code) const { throw error(code, details); }

 private:
  detail::held_lease lease_;
};

}  // namespace weft
