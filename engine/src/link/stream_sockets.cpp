// SPDX-License-Identifier: Apache-2.0
#include "link/stream_sockets.hpp"

#include <weft/engine/error.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/udp.hpp>
#include <boost/asio/local/stream_protocol.hpp>

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace weft::detail {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using asio::ip::udp;
using asio::local::stream_protocol;

// An idle connection is probed from a third of its time on, then every sixth: an answer may be lost three times.
constexpr int idle_part = 3;
constexpr int probe_part = 6;
constexpr int unanswered_probes = 4;

// Failing to tune makes a connection slower, or slower to fail, not wrong.
void tune(stream_socket& socket, int level, int option, int value) {
  (void)::setsockopt(socket.native_handle(), level, option, &value, sizeof value);
}

/// The kernel's unit for what it does on idle connections.
int whole_seconds(std::chrono::milliseconds time) {
  return static_cast<int>(std::max(std::chrono::ceil<std::chrono::seconds>(time), std::chrono::seconds(1)).count());
}

int family_of(stream_socket& socket) {
  boost::system::error_code problem;
  const auto local = socket.local_endpoint(problem);
  return problem ? AF_UNSPEC : local.protocol().family();
}

std::optional<::ucred> credentials_of(stream_socket& socket) {
  ::ucred who{};
  ::socklen_t size = sizeof who;
  if (::getsockopt(socket.native_handle(), SOL_SOCKET, SO_PEERCRED, &who, &size) != 0) return {};
  return who;
}

udp::endpoint udp_endpoint(const address& there) {
  boost::system::error_code problem;
  const auto number = asio::ip::make_address(there.host, problem);
  if (!problem) return {number, there.port};
  asio::io_context context;
  udp::resolver resolver(context);
  const auto found = resolver.resolve(there.host, std::to_string(there.port), problem);
  if (problem || found.empty())
    throw error(errc::address_unusable,
                "address \"" + there.text() + "\": the host is not found: " + problem.message());
  return found.begin()->endpoint();
}

}  // namespace

std::optional<stream_endpoint> numeric_endpoint(const address& where) {
  // A leading zero makes the name abstract.
  if (where.family == address_family::unix_socket) return stream_protocol::endpoint(std::string(1, '\0') + where.name);
  const std::string number = where.host == "localhost" ? "127.0.0.1" : where.host;
  boost::system::error_code problem;
  const auto parsed = asio::ip::make_address(number, problem);
  if (problem) return {};
  return tcp::endpoint(parsed, where.port);
}

void close_on_exec(int descriptor) {
  (void)::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
}

void prepare(stream_socket& socket) {
  close_on_exec(socket.native_handle());
  boost::system::error_code ignored;
  socket.non_blocking(true, ignored);
  if (family_of(socket) != AF_UNIX) tune(socket, IPPROTO_TCP, TCP_NODELAY, 1);
}

void limit_silence(stream_socket& socket, std::chrono::milliseconds longest) {
  if (family_of(socket) == AF_UNIX) return;
  // For bytes that are not acknowledged, and for probes that are not answered.
  tune(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(longest.count()));
  tune(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  tune(socket, IPPROTO_TCP, TCP_KEEPIDLE, whole_seconds(longest / idle_part));
  tune(socket, IPPROTO_TCP, TCP_KEEPINTVL, whole_seconds(longest / probe_part));
  tune(socket, IPPROTO_TCP, TCP_KEEPCNT, unanswered_probes);
}

bool is_of_this_user(stream_socket& socket) {
  if (family_of(socket) != AF_UNIX) return false;
  const auto who = credentials_of(socket);
  return who && who->uid == ::geteuid();
}

std::string describe_other_end(stream_socket& socket) {
  if (family_of(socket) == AF_UNIX) {
    const auto who = credentials_of(socket);
    if (!who) return "a process of this host";
    return "process " + std::to_string(who->pid) + " of user " + std::to_string(who->uid);
  }
  boost::system::error_code problem;
  const auto remote = socket.remote_endpoint(problem);
  tcp::endpoint end;
  if (problem || remote.size() > end.capacity()) return "a host that is gone";
  std::memcpy(end.data(), remote.data(), remote.size());
  return address::of_tcp(end.address().to_string(), end.port()).text();
}

std::string local_host_towards(const address& there) {
  asio::io_context context;
  udp::socket probe(context);
  boost::system::error_code problem;
  probe.connect(udp_endpoint(there), problem);
  if (problem)
    throw error(errc::address_unusable, "no route from this host to \"" + there.text() + "\": " + problem.message());
  return probe.local_endpoint().address().to_string();
}

}  // namespace weft::detail
