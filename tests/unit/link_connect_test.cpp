// SPDX-License-Identifier: Apache-2.0
#include "link/connect.hpp"

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <optional>
#include <thread>

using namespace weft::detail;
using namespace std::chrono_literals;
namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr auto plenty = 20s;
const address any_unix = address::of_unix({});
const address any_tcp = address::of_tcp("127.0.0.1", 0);
const hello example{.purpose = purpose::peer, .from = 1, .to = 0, .world_size = 2, .incarnation = 5, .argument = 6};

/// How an attempt to connect ended.
struct attempt {
  std::optional<connection> made;
  error_code code;
  std::string text;
  bool busy = false;
  bool ended = false;

  [[nodiscard]] bool says(const std::string& part) const { return text.find(part) != std::string::npos; }
};

asio::awaitable<void> dial_into(attempt& result, address where, credentials secret, hello mine,
                                std::chrono::milliseconds timeout, absent_listener absent) {
  try {
    result.made = co_await connect_authenticated(where, secret, mine, timeout, absent);
  } catch (const boost::system::system_error& problem) {
    result.code = problem.code();
    result.text = problem.what();
    result.busy = dynamic_cast<const refused_as_busy*>(&problem) != nullptr;
  }
  result.ended = true;
}

struct network {
  asio::io_context context;
  credentials secret{.job_key = "secret", .incarnation = 77};
  std::function<verdict(const hello&)> admit = [](const hello&) { return verdict::accepted; };
  std::vector<hello> clients;
  std::vector<stream_socket> sockets;
  std::vector<std::string> reports;
  std::optional<acceptor> listener;

  void listen(const address& where) {
    listener.emplace(context.get_executor(), where, secret,
                     acceptor_callbacks{.admit = [this](const hello& from) { return admit(from); },
                                        .accepted =
                                            [this](const hello& from, stream_socket socket) {
                                              clients.push_back(from);
                                              sockets.push_back(std::move(socket));
                                            },
                                        .report = [this](std::string text) { reports.push_back(std::move(text)); }});
  }

  void start(attempt& result, const address& where, const credentials& with, std::chrono::milliseconds timeout = 10s,
             absent_listener absent = absent_listener::fails) {
    asio::co_spawn(context, dial_into(result, where, with, example, timeout, absent), asio::detached);
  }

  void stop_listening() {
    listener.reset();
    context.restart();
    context.poll();  // the executor carries it out
  }

  template <class Condition>
  bool run_until(Condition condition) {
    context.restart();
    const auto deadline = std::chrono::steady_clock::now() + plenty;
    while (!condition() && std::chrono::steady_clock::now() < deadline)
      if (context.run_one_for(plenty) == 0) break;
    return condition();
  }

  attempt dial(const address& where, const credentials& with, std::chrono::milliseconds timeout = 10s,
               absent_listener absent = absent_listener::fails) {
    attempt result;
    start(result, where, with, timeout, absent);
    CHECK(run_until([&] { return result.ended; }));
    return result;
  }
  attempt dial() { return dial(listener->local_address(), secret); }

  /// A connection without a handshake.
  stream_socket stranger(const address& where) {
    stream_socket socket(context);
    socket.connect(*numeric_endpoint(where));
    return socket;
  }
};

/// While it lives, this process acts as the user nobody.
struct other_user {
  other_user() { REQUIRE(::seteuid(65534) == 0); }
  ~other_user() { CHECK(::seteuid(0) == 0); }
};

/// While it lives, no descriptor can be opened.
struct no_descriptors {
  no_descriptors() {
    const int next = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    ::close(next);
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const ::rlimit now{static_cast<::rlim_t>(next), before_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &now) == 0);
  }
  ~no_descriptors() { CHECK(::setrlimit(RLIMIT_NOFILE, &before_) == 0); }

 private:
  ::rlimit before_{};
};

/// Reads to the end of the stream.
std::string read_all(network& net, stream_socket& socket) {
  std::string all;
  bool ended = false;
  asio::async_read(socket, asio::dynamic_buffer(all), [&](const error_code&, std::size_t) { ended = true; });
  CHECK(net.run_until([&] { return ended; }));
  return all;
}

}  // namespace

TEST_CASE("a client is let in and both ends can talk") {
  for (const address& where : {any_unix, any_tcp}) {
    network net;
    net.listen(where);
    attempt result = net.dial();
    REQUIRE(result.made);
    REQUIRE(net.run_until([&] { return net.sockets.size() == 1; }));
    CHECK(net.clients.front() == example);
    CHECK(result.made->server_incarnation == 77);
    CHECK(result.made->socket.non_blocking());
    CHECK(net.sockets.front().non_blocking());
    CHECK(write_now(net.sockets.front(), asio::buffer("hi", 2)).bytes == 2);
    char got[2];
    asio::async_read(result.made->socket, asio::buffer(got), [&](const error_code&, std::size_t) {});
    net.context.restart();
    net.context.run_for(0ms);
    CHECK(std::string(got, 2) == "hi");
    CHECK(net.reports.empty());
  }
}

TEST_CASE("without a key processes of one user meet over a Unix socket") {
  network net;
  net.secret.job_key.clear();
  net.listen(any_unix);
  CHECK(net.dial().made);
}

TEST_CASE("without a key another user is refused at both ends") {
  if (::geteuid() != 0) {
    MESSAGE("only root can be another user for a while: nothing is tested");
    return;
  }
  network net;
  net.secret.job_key.clear();
  net.listen(any_unix);
  {
    const other_user nobody;
    net.stranger(net.listener->local_address());
  }
  REQUIRE(net.run_until([&] { return !net.reports.empty(); }));
  CHECK(net.reports.front().find("user 65534") != std::string::npos);
  CHECK(net.dial().made);

  network foreign;
  foreign.secret.job_key.clear();
  {
    const other_user nobody;
    foreign.listen(any_unix);
  }
  const attempt result = foreign.dial();
  CHECK(result.code == weft::errc::authentication_failed);
  CHECK_MESSAGE(result.says("user 65534"), result.text);
}

TEST_CASE("an acceptor survives a time without free descriptors") {
  network net;
  net.listen(any_unix);
  const stream_socket waiting = net.stranger(net.listener->local_address());
  {
    const no_descriptors none;
    REQUIRE(net.run_until([&] { return !net.reports.empty(); }));
    CHECK(net.reports.front().find("cannot accept") != std::string::npos);
  }
  CHECK(net.dial().made);
  CHECK(net.reports.size() == 1);
}

TEST_CASE("without a key TCP is refused at both ends") {
  network net;
  net.secret.job_key.clear();
  try {
    net.listen(any_tcp);
    FAIL("it listens");
  } catch (const weft::error& problem) {
    CHECK(problem.code() == weft::errc::job_key_required);
  }
  const attempt result = net.dial(address::of_tcp("127.0.0.1", 1), net.secret);
  CHECK(result.code == weft::errc::job_key_required);
}

TEST_CASE("a client with another key is refused, reported, and no hindrance to the next") {
  for (const address& where : {any_unix, any_tcp}) {
    network net;
    net.listen(where);
    const attempt result = net.dial(net.listener->local_address(), {.job_key = "other"});
    CHECK(result.code == weft::errc::authentication_failed);
    CHECK(result.says(net.listener->local_address().text()));
    REQUIRE(net.run_until([&] { return !net.reports.empty(); }));
    CHECK(net.reports.front().find("another job key") != std::string::npos);
    CHECK(net.clients.empty());
    CHECK(net.dial().made);
  }
}

TEST_CASE("a client with another version learns both versions") {
  for (const address& where : {any_unix, any_tcp}) {
    network net;
    net.listen(where);
    const attempt result = net.dial(net.listener->local_address(), {.job_key = "secret", .version = 9});
    CHECK(result.code == weft::errc::protocol_mismatch);
    CHECK(result.says("version 9"));
    CHECK(result.says("version " + std::to_string(weft::wire_protocol_version)));
    REQUIRE(net.run_until([&] { return !net.reports.empty(); }));
    CHECK(net.reports.front().find("version 9") != std::string::npos);
  }
}

TEST_CASE("the server's verdict tells why a client may not come in") {
  network net;
  net.listen(any_unix);
  net.admit = [](const hello&) { return verdict::busy; };
  const attempt busy = net.dial();
  CHECK(busy.busy);
  CHECK(busy.code);
  CHECK(net.reports.empty());
  net.admit = [](const hello&) { return verdict::unknown_incarnation; };
  CHECK(net.dial().code == weft::errc::peer_lost);
  CHECK(net.reports.size() == 1);
  net.admit = [](const hello&) { return verdict::wrong_rank; };
  CHECK(net.dial().code == weft::errc::rendezvous_conflict);
  net.admit = [](const hello&) -> verdict { throw std::runtime_error("no idea"); };
  CHECK(net.dial().code);
  CHECK(net.reports.back().find("no idea") != std::string::npos);
  net.admit = [](const hello&) { return verdict::accepted; };
  CHECK(net.dial().made);
}

TEST_CASE("who was too busy to listen does not take the other end for silent") {
  for (const int step : {4, 7}) {  // of the handshake, more or less
    CAPTURE(step);
    network net;
    net.listen(any_unix);
    attempt result;
    net.start(result, net.listener->local_address(), net.secret, 100ms);
    for (int i = 0; i < step; ++i) net.context.run_one();
    // A handler that takes its time: far more than the deadline.
    const auto end = std::chrono::steady_clock::now() + 1300ms;
    while (std::chrono::steady_clock::now() < end) {}
    CHECK(net.run_until([&] { return result.ended; }));
    CHECK(result.text == "");
    CHECK(result.made);
  }
}

TEST_CASE("silent and chattering strangers delay nobody") {
  for (const address& where : {any_unix, any_tcp}) {
    network net;
    net.listen(where);
    std::vector<stream_socket> silent;
    for (int i = 0; i < 20; ++i) silent.push_back(net.stranger(net.listener->local_address()));
    stream_socket chatty = net.stranger(net.listener->local_address());
    asio::write(chatty, asio::buffer(std::string("GET / HTTP/1.1\r\nHost: here\r\n\r\n")));
    CHECK(net.dial().made);
    CHECK(read_all(net, chatty).empty());
    CHECK(net.reports.size() == 1);
    CHECK(net.reports.front().find("does not speak") != std::string::npos);

    net.listener.reset();
    for (stream_socket& socket : silent) CHECK(read_all(net, socket).empty());
    CHECK(net.reports.size() == 1);
  }
}

TEST_CASE("a listener that is gone calls nobody back and leaves its address free") {
  for (const address& where : {address::of_unix("weft-connect-test-" + std::to_string(::getpid())), any_tcp}) {
    network net;
    net.listen(where);
    const address place = net.listener->local_address();
    attempt result;
    net.start(result, place, net.secret);
    net.admit = [&](const hello&) {
      net.listener.reset();
      return verdict::accepted;
    };
    CHECK(net.run_until([&] { return result.ended; }));
    CHECK(result.code);
    CHECK(net.clients.empty());
    net.listen(place);
    net.admit = [](const hello&) { return verdict::accepted; };
    CHECK(net.dial().made);
  }
}

TEST_CASE("an address where another listens is in use") {
  for (const address& where : {any_unix, any_tcp}) {
    network first;
    network second;
    first.listen(where);
    const address taken = first.listener->local_address();
    try {
      second.listen(taken);
      FAIL("two listen at one address");
    } catch (const weft::error& problem) {
      CHECK(problem.code() == weft::errc::address_in_use);
      CHECK(std::string(problem.what()).find(taken.text()) != std::string::npos);
    }
  }
}

TEST_CASE("an address of another host cannot be listened at") {
  network net;
  try {
    net.listen(address::of_tcp("192.0.2.1", 0));
    FAIL("it listens at an address of nobody");
  } catch (const weft::error& problem) {
    CHECK(problem.code() == weft::errc::address_unusable);
    CHECK(std::string(problem.what()).find("192.0.2.1") != std::string::npos);
  }
}

TEST_CASE("a name is listened at on all interfaces") {
  network net;
  net.listen(address::of_tcp("a-name-that-resolves-elsewhere.invalid", 0));
  CHECK(net.dial(address::of_tcp("127.0.0.1", net.listener->local_address().port), net.secret).made);
}

TEST_CASE("where nobody listens a client fails at once, or waits as long as it was told") {
  for (const address& where : {address::of_unix("weft-nobody-" + std::to_string(::getpid())), any_tcp}) {
    network net;
    net.listen(any_tcp);
    address nobody = where;
    nobody.port = net.listener->local_address().port;
    net.stop_listening();
    const attempt at_once = net.dial(nobody, net.secret);
    CHECK(at_once.code == asio::error::connection_refused);
    CHECK(at_once.says(nobody.text()));
    const auto began = std::chrono::steady_clock::now();
    const attempt later = net.dial(nobody, net.secret, 150ms, absent_listener::is_awaited);
    CHECK(later.code == weft::errc::timed_out);
    CHECK(later.says("refused"));
    CHECK(std::chrono::steady_clock::now() - began >= 150ms);
  }
}

TEST_CASE("a client that waits meets a listener that comes later") {
  network net;
  const address place = address::of_unix("weft-later-" + std::to_string(::getpid()));
  attempt result;
  net.start(result, place, net.secret, 10s, absent_listener::is_awaited);
  asio::steady_timer later(net.context, 30ms);
  later.async_wait([&](const error_code&) { net.listen(place); });
  CHECK(net.run_until([&] { return result.ended; }));
  CHECK(result.made);
}

TEST_CASE("a host name that does not exist makes the address unusable") {
  network net;
  const attempt result = net.dial(address::parse("no-such-host.invalid:1"), net.secret, 5s);
  CHECK((result.code == weft::errc::address_unusable || result.code == weft::errc::timed_out));
  CHECK(result.says("no-such-host.invalid"));
}

TEST_CASE("a server that says nothing costs a client no more than its time") {
  network net;
  asio::basic_socket_acceptor<asio::generic::stream_protocol> mute(net.context);
  const address place = address::of_unix("weft-mute-" + std::to_string(::getpid()));
  mute.open(numeric_endpoint(place)->protocol());
  mute.bind(*numeric_endpoint(place));
  // Its queue takes one: what a further client meets is a full queue, which empties or does not.
  mute.listen(0);
  attempt in_queue;
  attempt outside;
  net.start(in_queue, place, net.secret, 100ms);
  net.start(outside, place, net.secret, 100ms);
  CHECK(net.run_until([&] { return in_queue.ended && outside.ended; }));
  CHECK(in_queue.code == weft::errc::timed_out);
  CHECK(outside.code == weft::errc::timed_out);
}

TEST_CASE("a client that waits can be cancelled") {
  network net;
  asio::cancellation_signal signal;
  attempt result;
  bool ended = false;
  asio::co_spawn(net.context,
                 dial_into(result, address::of_unix("weft-never-" + std::to_string(::getpid())), net.secret, example,
                           1h, absent_listener::is_awaited),
                 asio::bind_cancellation_slot(signal.slot(), [&](const std::exception_ptr&) { ended = true; }));
  asio::steady_timer soon(net.context, 10ms);
  soon.async_wait([&](const error_code&) { signal.emit(asio::cancellation_type::terminal); });
  CHECK(net.run_until([&] { return ended; }));
  CHECK(result.code == asio::error::operation_aborted);
}

TEST_CASE("many clients come in at once on an executor with several threads") {
  constexpr int clients = 60;
  network net;
  std::atomic<int> inside = 0;
  std::atomic<int> most_inside = 0;
  std::atomic<int> done = 0;
  net.admit = [&](const hello&) {
    most_inside = std::max(most_inside.load(), ++inside);
    --inside;
    return verdict::accepted;
  };
  net.listen(any_unix);
  std::vector<attempt> results(clients);
  for (attempt& result : results)
    asio::co_spawn(net.context,
                   dial_into(result, net.listener->local_address(), net.secret, example, 20s, absent_listener::fails),
                   [&](const std::exception_ptr&) {
                     if (++done == clients) net.context.stop();
                   });
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { net.context.run_for(plenty); });
  for (std::thread& thread : threads) thread.join();
  CHECK(done == clients);
  CHECK(net.run_until([&] { return net.sockets.size() == clients; }));
  CHECK(std::all_of(results.begin(), results.end(), [](const attempt& one) { return one.made.has_value(); }));
  CHECK(most_inside == 1);
}
