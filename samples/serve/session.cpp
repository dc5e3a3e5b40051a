// SPDX-License-Identifier: Apache-2.0
#include "session.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>

#include <array>
#include <stdexcept>
#include <utility>

namespace serve {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;

constexpr auto with_code = asio::as_tuple(asio::use_awaitable);

// For a client to send a request after the one before.
constexpr std::chrono::seconds idle_limit{60};

}  // namespace

session::session(asio::ip::tcp::socket socket, desk& shared) : stream_(std::move(socket)), shared_(shared) {
  // Parts are small and must not wait for each other's acknowledgement; looking whether a client has left must not
  // block.
  stream_.socket().set_option(asio::ip::tcp::no_delay(true));
  stream_.socket().non_blocking(true);
}

asio::awaitable<void> session::run() {
  try {
    while (more_ && !shared_.closing) co_await serve_one();
    error_code ignored;
    stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  } catch (const boost::system::system_error&) {
    // The client has left, or takes nothing: there is nobody to tell.
  }
}

void session::stop() {
  if (reading_) stream_.cancel();
}

asio::awaitable<void> session::serve_one() {
  http::request_parser<http::string_body> parser;
  parser.body_limit(largest_text);
  stream_.expires_after(idle_limit);
  reading_ = true;
  auto [code, size] = co_await http::async_read(stream_, buffer_, parser, with_code);
  reading_ = false;
  more_ = !code && !shared_.closing && parser.get().keep_alive();
  stream_.expires_after(reply_limit);
  if (!code)
    co_await route(parser.release());
  else if (code == http::error::body_limit)
    co_await refuse(status::payload_too_large, "a text has at most " + std::to_string(largest_text) + " bytes\n");
  else if (code.category() == make_error_code(http::error::bad_method).category() &&
           code != http::error::end_of_stream && code != http::error::partial_message)
    co_await refuse(status::bad_request, code.message() + "\n");
}

/// Answers a request that was not read to its end.
asio::awaitable<void> session::refuse(status code, std::string text) {
  co_await reply(code, std::move(text));
  stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send);
  // Closing a socket with unread bytes resets the connection, and the client may lose the answer: so they are read,
  // until the client closes or `reply_limit` has passed.
  stream_.expires_after(reply_limit);
  std::array<char, 4096> unread;
  error_code over;
  while (!over) {
    auto [ended, size] = co_await stream_.async_read_some(asio::buffer(unread), with_code);
    over = ended;
  }
}

asio::awaitable<void> session::route(posted asked) {
  const std::string target(asked.target());
  const std::string path = target.substr(0, target.find('?'));
  if (asked.version() < 11) {
    more_ = false;
    co_await reply(status::http_version_not_supported, "answers come in chunks, which need HTTP/1.1\n");
  } else if (path != "/count" && path != "/stats") {
    co_await reply(status::not_found, "there are POST /count and GET /stats\n");
  } else if (asked.method() != (path == "/count" ? http::verb::post : http::verb::get)) {
    co_await reply(status::method_not_allowed, "there are POST /count and GET /stats\n");
  } else if (path == "/stats") {
    co_await reply(status::ok, stats_of(shared_));
  } else {
    co_await count(std::move(asked));
  }
}

asio::awaitable<void> session::count(posted asked) {
  const std::string target(asked.target());
  const std::size_t mark = target.find('?');
  request job;
  std::chrono::milliseconds limit = shared_.settings.deadline;
  std::string problem;
  try {
    const count_query query = parse_query(mark == std::string::npos ? "" : target.substr(mark + 1));
    if (query.deadline.count() != 0) limit = std::min(limit, query.deadline);
    job.pace_ms = query.pace_ms;
  } catch (const std::invalid_argument& wrong) {
    problem = std::string(wrong.what()) + "\n";
  }
  if (!problem.empty()) {
    co_await reply(status::bad_request, std::move(problem));
    co_return;
  }
  job.text = std::move(asked.body());
  co_await count_text(std::move(job), std::chrono::steady_clock::now() + limit);
}

asio::awaitable<void> session::reply(status code, std::string text) {
  http::response<http::string_body> response(code, 11, std::move(text));
  response.keep_alive(more_);
  if (code == status::service_unavailable) response.set(http::field::retry_after, "1");
  if (code == status::ok) response.set(http::field::content_type, "application/json");
  response.prepare_payload();
  co_await http::async_write(stream_, response, asio::use_awaitable);
}

}  // namespace serve
