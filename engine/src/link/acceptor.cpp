// SPDX-License-Identifier: Apache-2.0
#include "link/acceptor.hpp"

#include "link/stream_sockets.hpp"
#include "link/timed_stream.hpp"

#include <weft/engine/error.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <unordered_set>
#include <utility>

namespace weft::detail {

namespace asio = boost::asio;
using stream_listener = asio::basic_socket_acceptor<asio::generic::stream_protocol>;
using error_code = boost::system::error_code;

namespace {

// A handshake is three short messages: who takes longer is no rank of ours, or as good as dead.
constexpr std::chrono::seconds handshake_timeout{10};
// Descriptors or memory have run out: others need time to give some back.
constexpr std::chrono::milliseconds pause_when_out_of_descriptors{100};

std::string random_name() {
  static constexpr char digits[] = "0123456789abcdef";
  std::string name = "weft-";
  const handshake_nonce random = make_nonce();
  for (const std::byte byte : std::span(random).first<16>()) {
    name += digits[std::to_integer<unsigned>(byte) >> 4];
    name += digits[std::to_integer<unsigned>(byte) & 15];
  }
  return name;
}

[[noreturn]] void throw_unusable(const address& where, const error_code& why) {
  if (why == asio::error::address_in_use)
    throw error(errc::address_in_use, "address \"" + where.text() + "\": another process listens there");
  throw error(errc::address_unusable, "cannot listen at \"" + where.text() + "\": " + why.message());
}

error_code listen_at(stream_listener& listener, const stream_endpoint& where) {
  error_code problem;
  listener.open(where.protocol(), problem);
  if (problem) return problem;
  close_on_exec(listener.native_handle());
  const int family = where.protocol().family();
  // A job that starts again must not wait for the connections of the last one to be forgotten.
  if (family != AF_UNIX) listener.set_option(asio::socket_base::reuse_address(true), problem);
  if (family == AF_INET6) listener.set_option(asio::ip::v6_only(false), problem);
  listener.bind(where, problem);
  if (!problem) listener.listen(asio::socket_base::max_listen_connections, problem);
  if (problem) {
    error_code ignored;
    listener.close(ignored);
  }
  return problem;
}

void listen_at(stream_listener& listener, const address& where) {
  error_code problem;
  if (const auto number = numeric_endpoint(where)) {
    problem = listen_at(listener, *number);
  } else {
    problem = listen_at(listener, asio::ip::tcp::endpoint(asio::ip::tcp::v6(), where.port));
    // A kernel without IPv6.
    if (problem && problem != asio::error::address_in_use)
      problem = listen_at(listener, asio::ip::tcp::endpoint(asio::ip::tcp::v4(), where.port));
  }
  if (problem) throw_unusable(where, problem);
}

std::uint16_t port_of(const stream_listener& listener) {
  const auto local = listener.local_endpoint();
  asio::ip::tcp::endpoint end;
  std::memcpy(end.data(), local.data(), std::min(local.size(), end.capacity()));
  return end.port();
}

bool is_shortage(const error_code& code) {
  return code == asio::error::no_descriptors || code == asio::error::no_memory ||
         code == asio::error::no_buffer_space || code == boost::system::errc::too_many_files_open_in_system;
}

}  // namespace

class acceptor::service : public std::enable_shared_from_this<service> {
 public:
  service(const asio::any_io_executor& executor, credentials secret, acceptor_callbacks callbacks)
      : executor_(executor),
        strand_(asio::make_strand(executor)),
        listener_(strand_),
        pause_(strand_),
        secret_(std::move(secret)),
        callbacks_(std::move(callbacks)) {}

  [[nodiscard]] address listen(address where) {
    if (where.family == address_family::tcp && secret_.job_key.empty())
      throw error(errc::job_key_required, "listening at \"" + where.text() +
                                              "\" needs a job key, because any process may connect: set WEFT_JOB_KEY "
                                              "to one secret on all ranks");
    if (where.family == address_family::unix_socket && where.name.empty()) where.name = random_name();
    listen_at(listener_, where);
    if (where.family == address_family::tcp) where.port = port_of(listener_);
    return where;
  }

  void start() { asio::co_spawn(strand_, accept_all(shared_from_this()), asio::detached); }

  void close() {
    closed_ = true;
    asio::dispatch(strand_, [self = shared_from_this()] {
      error_code ignored;
      self->listener_.close(ignored);
      self->pause_.cancel();
      for (timed_stream* stream : self->handshakes_) stream->close();
    });
  }

 private:
  // `self` keeps the service alive for as long as the coroutine lives.
  asio::awaitable<void> accept_all(std::shared_ptr<service> self) {
    (void)self;
    while (!closed_) {
      stream_socket socket(executor_);
      error_code problem;
      co_await listener_.async_accept(socket, asio::redirect_error(asio::use_awaitable, problem));
      if (closed_) co_return;
      if (!problem) asio::co_spawn(strand_, greet(shared_from_this(), std::move(socket)), asio::detached);
      const bool short_before = std::exchange(short_of_descriptors_, is_shortage(problem));
      if (!short_of_descriptors_) continue;
      if (!short_before) report("cannot accept connections for a while: " + problem.message());
      pause_.expires_after(pause_when_out_of_descriptors);
      co_await pause_.async_wait(asio::redirect_error(asio::use_awaitable, problem));
    }
  }

  asio::awaitable<void> greet(std::shared_ptr<service> self, stream_socket socket) {
    (void)self;
    prepare(socket);
    const std::string who = describe_other_end(socket);
    if (secret_.job_key.empty() && !is_of_this_user(socket)) {
      report("refused " + who + ": without a job key only processes of this user are admitted");
      co_return;
    }
    timed_stream stream(std::move(socket), strand_, std::chrono::steady_clock::now() + handshake_timeout);
    const registration registered(handshakes_, stream);
    try {
      co_await shake_hands(stream, who);
    } catch (const std::exception& problem) {
      report("refused " + who + ": " + (stream.expired() ? "it was silent for too long" : problem.what()));
    }
  }

  asio::awaitable<void> shake_hands(timed_stream& stream, const std::string& who) {
    server_handshake side(secret_.job_key, secret_.incarnation, make_nonce(), secret_.version);
    const handshake_status status = co_await carry_out(stream, side, side.start());
    if (closed_) co_return;
    // The deadline may strike between the last byte and this line: nobody is given a socket that was closed.
    if (stream.expired()) throw boost::system::system_error(asio::error::timed_out);
    if (status == handshake_status::authenticated) {
      conclude(stream, side, who);
      co_return;
    }
    report("refused " + who + ": " + side.reason());
    co_await linger(stream);
  }

  // Closing while there is unread input would destroy the answer before the client sees it.
  static asio::awaitable<void> linger(timed_stream& stream) {
    error_code problem;
    stream.socket().shutdown(asio::socket_base::shutdown_send, problem);
    std::array<char, 256> unread;
    std::size_t budget = 16 * unread.size();
    while (!problem && budget >= unread.size()) {
      budget -= unread.size();
      co_await stream.socket().async_read_some(asio::buffer(unread),
                                               asio::redirect_error(asio::use_awaitable, problem));
    }
  }

  // Without a suspension between `admit` and `accepted`, so that nothing can come between them.
  void conclude(timed_stream& stream, server_handshake& side, const std::string& who) {
    const hello client = side.client();
    const verdict answer = callbacks_.admit(client);
    if (closed_) return;  // by the callback
    stream_socket socket = stream.release();
    const auto output = side.decide(answer).output;
    // The first bytes after a few others always fit in the kernel's buffer.
    const io_result written = write_now(socket, asio::buffer(output.data(), output.size()));
    error_code ignored;
    if (written.bytes != output.size()) socket.shutdown(asio::socket_base::shutdown_both, ignored);
    if (answer == verdict::accepted)
      callbacks_.accepted(client, std::move(socket));
    else if (answer != verdict::busy)
      report("refused rank " + std::to_string(client.from) + ", " + who + ": " + std::string(describe(answer)));
  }

  void report(std::string text) noexcept {
    try {
      if (callbacks_.report && !closed_) callbacks_.report(std::move(text));
    } catch (const std::exception&) {
      // Who cannot be told of a stranger is not told.
    }
  }

  class registration {
   public:
    registration(std::unordered_set<timed_stream*>& all, timed_stream& own) : all_(all), own_(&own) {
      all_.insert(own_);
    }
    ~registration() { all_.erase(own_); }
    registration(const registration&) = delete;
    registration& operator=(const registration&) = delete;

   private:
    std::unordered_set<timed_stream*>& all_;
    timed_stream* own_;
  };

  asio::any_io_executor executor_;
  asio::any_io_executor strand_;
  stream_listener listener_;
  asio::steady_timer pause_;
  bool short_of_descriptors_ = false;
  credentials secret_;
  acceptor_callbacks callbacks_;
  std::unordered_set<timed_stream*> handshakes_;  ///< to end them on close
  std::atomic<bool> closed_ = false;              ///< set by whichever thread closes
};

acceptor::acceptor(const asio::any_io_executor& executor, const address& where, credentials secret,
                   acceptor_callbacks callbacks)
    : service_(std::make_shared<service>(executor, std::move(secret), std::move(callbacks))) {
  local_ = service_->listen(where);
  service_->start();
}

acceptor::~acceptor() {
  close();
}

void acceptor::close() {
  if (const auto ended = std::exchange(service_, nullptr)) ended->close();
}

}  // namespace weft::detail
