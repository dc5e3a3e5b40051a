// SPDX-License-Identifier: Apache-2.0
#include "link/connect.hpp"

#include "link/resolve.hpp"
#include "link/timed_stream.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <sodium/randombytes.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

namespace weft::detail {
namespace {

namespace asio = boost::asio;
using error_code = boost::system::error_code;
using clock = std::chrono::steady_clock;

// A listener that starts a moment later is met at once, and one that takes minutes is not hammered.
constexpr std::chrono::milliseconds first_pause{1};
constexpr std::chrono::milliseconds longest_pause{200};

/// Grows with each attempt; random, so that the ranks of a job do not knock in step.
class backoff {
 public:
  std::chrono::microseconds next() {
    const auto base = std::chrono::microseconds(pause_);
    pause_ = std::min(2 * pause_, longest_pause);
    return base + std::chrono::microseconds(::randombytes_uniform(static_cast<std::uint32_t>(base.count() / 2)));
  }

 private:
  std::chrono::milliseconds pause_ = first_pause;
};

// The listener's queue is full: it is there, and has too many callers at the moment.
bool is_crowded(const error_code& code) {
  return code == asio::error::try_again || code == asio::error::no_buffer_space;
}

// Seen while a listener, its host or its name does not exist yet, or its predecessor is going away.
bool is_absence(const error_code& code) {
  namespace generic = boost::system::errc;
  return code == asio::error::connection_refused || code == asio::error::connection_reset || code == asio::error::eof ||
         code == asio::error::broken_pipe || code == asio::error::host_unreachable ||
         code == asio::error::network_unreachable || code == asio::error::host_not_found ||
         code == asio::error::host_not_found_try_again || code == generic::timed_out;
}

bool is_name_problem(const error_code& code) {
  return &code.category() == &asio::error::get_netdb_category() ||
         &code.category() == &asio::error::get_addrinfo_category();
}

[[noreturn]] void throw_refused(verdict answer, const std::string& place) {
  const std::string text = "the other end at \"" + place + "\" refuses: " + std::string(describe(answer));
  switch (answer) {
    case verdict::busy:
      throw refused_as_busy(asio::error::already_connected, text);
    case verdict::unknown_incarnation:
    case verdict::closing:
      throw error(errc::peer_lost, text);
    default:
      throw error(errc::rendezvous_conflict, text);
  }
}

/// Attempts of one call, on a strand of its own: the deadline, a cancellation and the steps may come from any thread.
class dialler {
 public:
  dialler(const address& where, const credentials& secret, const hello& mine, std::chrono::milliseconds timeout,
          absent_listener absent, asio::any_io_executor executor, asio::any_io_executor strand)
      : where_(where),
        secret_(secret),
        mine_(mine),
        timeout_(timeout),
        deadline_(clock::now() + timeout),
        absent_(absent),
        executor_(std::move(executor)),
        strand_(std::move(strand)) {}

  // Optional, because what co_spawn yields must have a default.
  asio::awaitable<std::optional<connection>> run() {
    backoff pauses;
    for (;;) {
      const error_code problem = co_await attempt();
      if (!problem) co_return std::move(made_);
      if (!may_try_again(problem)) throw_failed(problem);
      co_await rest(pauses.next());
      if (clock::now() >= deadline_) throw_failed(problem);
    }
  }

 private:
  [[nodiscard]] bool may_try_again(const error_code& problem) const {
    return clock::now() < deadline_ &&
           (is_crowded(problem) || (absent_ == absent_listener::is_awaited && is_absence(problem)));
  }

  asio::awaitable<void> rest(std::chrono::microseconds pause) {
    asio::steady_timer timer(strand_, std::min(clock::now() + pause, deadline_));
    co_await timer.async_wait(asio::use_awaitable);
  }

  // Tries all that the address stands for.
  asio::awaitable<error_code> attempt() {
    const resolution found = co_await resolve(where_, strand_, deadline_);
    error_code problem = found.problem;
    for (const stream_endpoint& end : found.endpoints) {
      problem = co_await attempt(end);
      if (!problem || clock::now() >= deadline_) break;
    }
    co_return problem;
  }

  // Errors of the connection are returned; what is wrong with the other end is thrown.
  asio::awaitable<error_code> attempt(const stream_endpoint& end) {
    stream_socket socket(executor_);
    error_code problem;
    socket.open(end.protocol(), problem);
    if (problem) co_return problem;
    prepare(socket);
    timed_stream stream(std::move(socket), strand_, deadline_);
    try {
      co_await connect(stream.socket(), end);
      check_user(stream.socket());
      co_await shake_hands(stream);
    } catch (const error&) {
      throw;
    } catch (const boost::system::system_error& failure) {
      problem = stream.expired() ? error_code(asio::error::timed_out) : failure.code();
    }
    co_return problem;
  }

  static asio::awaitable<void> connect(stream_socket& socket, const stream_endpoint& end) {
    if (end.protocol().family() != AF_UNIX) {
      co_await socket.async_connect(end, asio::use_awaitable);
      // TCP's options need a connection to be known as TCP's.
      prepare(socket);
      co_return;
    }
    // Never under way: it succeeds or fails at once. Asio takes EAGAIN, a full queue, for under way.
    if (::connect(socket.native_handle(), end.data(), static_cast<::socklen_t>(end.size())) != 0)
      throw boost::system::system_error(error_code(errno, boost::system::system_category()));
  }

  void check_user(stream_socket& socket) const {
    if (!secret_.job_key.empty() || is_of_this_user(socket)) return;
    throw error(errc::authentication_failed, "\"" + where_.text() + "\" is held by " + describe_other_end(socket) +
                                                 ": without a job key both ends must be of one user");
  }

  asio::awaitable<void> shake_hands(timed_stream& stream) {
    client_handshake side(secret_.job_key, mine_, make_nonce(), secret_.version);
    const handshake_status status = co_await carry_out(stream, side, side.start());
    if (status == handshake_status::failed)
      throw error(side.code(), "connecting to \"" + where_.text() + "\": " + side.reason());
    if (side.answer() != verdict::accepted) throw_refused(side.answer(), where_.text());
    // The deadline may have struck since the last byte.
    if (stream.expired()) throw boost::system::system_error(asio::error::timed_out);
    made_.emplace(connection{stream.release(), side.server_incarnation()});
  }

  [[noreturn]] void throw_failed(const error_code& problem) const {
    if (problem == asio::error::operation_aborted) throw boost::system::system_error(problem);
    const std::string why = problem == asio::error::eof ? "the other end hung up" : problem.message();
    const std::string text = "connecting to \"" + where_.text() + "\": " + why;
    if (clock::now() >= deadline_)
      throw error(errc::timed_out, text + " (given up after " + std::to_string(timeout_.count()) + " ms)");
    throw error(is_name_problem(problem) ? error_code(errc::address_unusable) : problem, text);
  }

  const address& where_;
  const credentials& secret_;
  hello mine_;
  std::chrono::milliseconds timeout_;
  clock::time_point deadline_;
  absent_listener absent_;
  asio::any_io_executor executor_;
  asio::any_io_executor strand_;
  std::optional<connection> made_;
};

}  // namespace

asio::awaitable<connection> connect_authenticated(const address& where, const credentials& secret, hello mine,
                                                  std::chrono::milliseconds timeout, absent_listener absent) {
  if (where.family == address_family::tcp && secret.job_key.empty())
    throw error(errc::job_key_required,
                "connecting to \"" + where.text() + "\" needs a job key: set WEFT_JOB_KEY to one secret on all ranks");
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  const asio::any_io_executor strand = asio::make_strand(executor);
  dialler attempts(where, secret, mine, timeout, absent, executor, strand);
  std::optional<connection> made = co_await asio::co_spawn(strand, attempts.run(), asio::use_awaitable);
  co_return std::move(*made);
}

}  // namespace weft::detail
