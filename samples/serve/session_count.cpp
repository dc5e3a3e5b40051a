// SPDX-License-Identifier: Apache-2.0
#include "part_text.hpp"
#include "session.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <utility>

namespace serve {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr auto with_code = asio::as_tuple(asio::use_awaitable);

}  // namespace

asio::awaitable<void> session::count_text(request job, time_point deadline) {
  using namespace asio::experimental::awaitable_operators;
  ++shared_.so_far.requests;
  begun_ = false;
  // A client that takes its parts too slowly meets the deadline as well.
  stream_.expires_at(deadline + reply_limit);
  const auto first = co_await (answer(std::move(job), deadline) || client_leaves());
  const ending how = first.index() == 0 ? std::get<0>(first) : ending::client_left;
  shared_.so_far.add(how);
  stream_.expires_after(reply_limit);
  co_await tell(how);
}

/// Does not throw: one side of `||` that throws would leave the other one waiting.
asio::awaitable<ending> session::answer(request job, time_point deadline) {
  try {
    co_return co_await attempt_until_answered(job, deadline);
  } catch (const boost::system::system_error&) {
    co_return ending::client_left;  // of all that is awaited, only writing to the client throws
  }
}

asio::awaitable<ending> session::attempt_until_answered(request& job, time_point deadline) {
  for (;;) {
    const auto where = shared_.workers.take();
    if (!where) co_return shared_.workers.any_ready() ? ending::refused : ending::failed;
    errand one(shared_, *where);
    job.reply_tag = where->tag;
    const error_code code = co_await relay(one, job, deadline);
    if (!code) co_return ending::answered;
    const auto how = after_failure(code, begun_);
    if (how) co_return *how;
    shared_.workers.lose(where->worker);
    ++shared_.so_far.failed_over;
  }
}

/// The code of what failed at the worker, if anything did.
asio::awaitable<error_code> session::relay(errand& one, const request& job, time_point deadline) {
  error_code code = co_await one.hand_over(job, deadline);
  part next;
  while (!code && !next.last) {
    code = co_await one.receive(next, deadline);
    if (!code) co_await write_part(next);
  }
  co_return code;
}

asio::awaitable<void> session::write_part(const part& next) {
  const std::string text = (begun_ ? "" : answer_header(more_)) + chunk_of(next);
  begun_ = true;
  co_await asio::async_write(stream_, asio::buffer(text), asio::use_awaitable);
}

/// Ends once the client has closed its side; while one request is answered, that says that it wants no answer.
asio::awaitable<void> session::client_leaves() {
  auto [code] = co_await stream_.socket().async_wait(asio::ip::tcp::socket::wait_read, with_code);
  char byte = 0;
  error_code problem;
  if (code || stream_.socket().receive(asio::buffer(&byte, 1), asio::socket_base::message_peek, problem) == 0)
    co_return;
  // The next request is there already: whether its sender stays is seen when it is read.
  asio::steady_timer never(shared_.executor, time_point::max());
  co_await never.async_wait(with_code);
}

asio::awaitable<void> session::tell(ending how) {
  switch (how) {
    case ending::answered:
      break;
    case ending::refused:
      co_await reply(status::service_unavailable, "all workers are busy: try again\n");
      break;
    case ending::failed:
      co_await reply(status::bad_gateway, "no worker is left to count\n");
      break;
    case ending::too_late:
      co_await reply(status::gateway_timeout, "the deadline passed before the answer began\n");
      break;
    case ending::cut_off:
    case ending::client_left:
      more_ = false;  // an answer without its last chunk says that it is not complete
      break;
  }
}

}  // namespace serve
