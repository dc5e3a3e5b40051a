// SPDX-License-Identifier: Apache-2.0
#include "link/resolve.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <memory>
#include <string>

namespace weft::detail {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

// A question to a name server cannot be called back. It is shared with whoever asked, who may not wait for the answer.
struct question {
  question(const asio::any_io_executor& strand, std::chrono::steady_clock::time_point deadline)
      : resolver(strand), patience(strand, deadline) {}

  tcp::resolver resolver;
  asio::steady_timer patience;
  bool answered = false;
  resolution answer;
};

void ask(const std::shared_ptr<question>& asked, const address& where, const asio::any_io_executor& strand) {
  asked->resolver.async_resolve(where.host, std::to_string(where.port),
                                asio::bind_executor(strand, [asked](const boost::system::error_code& code,
                                                                    const tcp::resolver::results_type& found) {
                                  asked->answered = true;
                                  asked->answer.problem = code;
                                  for (const auto& entry : found)
                                    asked->answer.endpoints.emplace_back(entry.endpoint());
                                  // Whether the asker waits already or is about to.
                                  asked->patience.expires_at(asio::steady_timer::time_point::min());
                                }));
}

}  // namespace

asio::awaitable<resolution> resolve(const address& where, asio::any_io_executor strand,
                                    std::chrono::steady_clock::time_point deadline) {
  resolution found;
  if (const auto number = numeric_endpoint(where)) {
    found.endpoints.push_back(*number);
    co_return found;
  }
  const auto asked = std::make_shared<question>(strand, deadline);
  ask(asked, where, strand);
  co_await asked->patience.async_wait(asio::redirect_error(asio::use_awaitable, found.problem));
  if (asked->answered)
    found = std::move(asked->answer);
  else if (!found.problem)
    found.problem = asio::error::timed_out;
  co_return found;
}

}  // namespace weft::detail
