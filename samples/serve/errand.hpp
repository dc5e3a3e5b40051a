// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "desk.hpp"
#include "messages.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/system/error_code.hpp>

#include <chrono>

namespace serve {

/// One attempt at a request, from the taking of a place to the worker's last word. Whoever needs no more of it destroys
/// it, also in the middle: the worker is told, and its place becomes free once it has said its last word.
class errand {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  errand(desk& shared, place where) noexcept : shared_(shared), where_(where) {}
  errand(const errand&) = delete;
  errand& operator=(const errand&) = delete;
  ~errand();

  /// Sends the request.
  [[nodiscard]] boost::asio::awaitable<boost::system::error_code> hand_over(const request& what, time_point deadline);
  /// Receives the next part of the answer.
  [[nodiscard]] boost::asio::awaitable<boost::system::error_code> receive(part& next, time_point deadline);

 private:
  desk& shared_;
  place where_;
  bool at_worker_ = false;  ///< the worker has the request, or will, and has not said its last word
};

}  // namespace serve
