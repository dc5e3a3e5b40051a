// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "desk.hpp"
#include "errand.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>

#include <chrono>
#include <string>

namespace serve {

/// One connection of a client, for as many requests as it sends one after the other.
class session {
 public:
  session(boost::asio::ip::tcp::socket socket, desk& shared);

  [[nodiscard]] boost::asio::awaitable<void> run();
  /// No further request is read; the one at hand gets its answer.
  void stop();

 private:
  using posted = boost::beast::http::request<boost::beast::http::string_body>;
  using status = boost::beast::http::status;
  using time_point = errand::time_point;
  template <class T>
  using awaitable = boost::asio::awaitable<T>;

  /// For a client to take an answer that waits for no worker.
  static constexpr std::chrono::seconds reply_limit{5};

  // session.cpp: reading requests, and what is answered at once.
  awaitable<void> serve_one();
  awaitable<void> route(posted asked);
  awaitable<void> count(posted asked);
  awaitable<void> refuse(status code, std::string text);
  awaitable<void> reply(status code, std::string text);

  // session_count.cpp: what workers answer.
  awaitable<void> count_text(request job, time_point deadline);
  awaitable<ending> answer(request job, time_point deadline);
  awaitable<ending> attempt_until_answered(request& job, time_point deadline);
  awaitable<boost::system::error_code> relay(errand& one, const request& job, time_point deadline);
  awaitable<void> write_part(const part& next);
  awaitable<void> client_leaves();
  awaitable<void> tell(ending how);

  boost::beast::tcp_stream stream_;
  boost::beast::flat_buffer buffer_;
  desk& shared_;
  bool reading_ = false;  ///< waits for a request
  bool begun_ = false;    ///< of the request at hand, the client has seen some of the answer
  bool more_ = true;      ///< the connection is kept after this request
};

}  // namespace serve
