// SPDX-License-Identifier: Apache-2.0
#include "link/listening_point.hpp"

#include "link/acceptor.hpp"
#include "link/address.hpp"
#include "link/connect.hpp"
#include "link/stream_sockets.hpp"

#include <weft/engine/error.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <utility>

namespace weft::detail {
namespace {

/// Names the kernel and the network namespace: ranks with the same ones reach each other's abstract Unix sockets.
std::string host_id() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  struct ::stat space {};
  const bool known = ::stat("/proc/self/ns/net", &space) == 0;
  return (boot.empty() ? "unknown" : boot) + "/" + std::to_string(known ? space.st_ino : 0);
}

/// The part of an address that says how this host is reached, from where all ranks meet.
std::string reachable_host(const engine_options& options) {
  if (!options.listen_host.empty()) return options.listen_host;
  if (options.rendezvous_address.empty()) return "127.0.0.1";
  const address meeting = address::parse(options.rendezvous_address);
  if (meeting.family == address_family::unix_socket || meeting.is_loopback()) return "127.0.0.1";
  return local_host_towards(meeting);
}

bool meets_elsewhere(const engine_options& options) {
  if (!options.listen_host.empty()) return true;
  if (options.meeting || options.rendezvous_address.empty()) return false;
  const address meeting = address::parse(options.rendezvous_address);
  return meeting.family == address_family::tcp && !meeting.is_loopback();
}

struct parsed_card {
  std::string host_id;
  std::optional<address> over_unix;
  std::optional<address> over_tcp;
};

parsed_card parse_card(const std::string& text) {
  parsed_card card;
  std::istringstream words(text);
  words >> card.host_id;
  for (std::string word; words >> word;) {
    const address where = address::parse(word);
    (where.family == address_family::unix_socket ? card.over_unix : card.over_tcp) = where;
  }
  return card;
}

}  // namespace

listening_options listen_as(const engine_options& options) {
  listening_options how;
  how.secret.job_key = options.job_key;
  how.host_id = host_id();
  how.link_timeout = options.link_timeout;
  how.over_unix = options.transport != transport::tcp;
  how.over_tcp = options.transport == transport::tcp ||
                 (options.transport == transport::automatic && !options.job_key.empty() && meets_elsewhere(options));
  if (how.over_tcp && options.job_key.empty())
    throw error(errc::job_key_required,
                "links over TCP need a job key, because any process may connect: set job_key (WEFT_JOB_KEY) to one "
                "secret on all ranks, or use transport::unix_socket on one host");
  if (how.over_tcp) how.tcp_host = reachable_host(options);
  return how;
}

listening_point::listening_point(const boost::asio::any_io_executor& executor, const listening_options& options,
                                 listening_callbacks callbacks)
    : options_(options) {
  const auto accepted = [timeout = options.link_timeout, tell = std::move(callbacks.accepted)](const hello& from,
                                                                                               stream_socket socket) {
    limit_silence(socket, timeout);
    tell(from, std::move(socket));
  };
  const acceptor_callbacks told{callbacks.admit, accepted, options.report};
  if (options.over_unix) unix_.emplace(executor, address::of_unix({}), options.secret, told);
  if (options.over_tcp) tcp_.emplace(executor, address::of_tcp(options.tcp_host, 0), options.secret, told);
}

std::string listening_point::card() const {
  std::string text = options_.host_id;
  if (unix_) text += " " + unix_->local_address().text();
  if (tcp_) text += " " + tcp_->local_address().text();
  return text;
}

boost::asio::awaitable<stream_socket> listening_point::dial(std::string card, hello mine,
                                                            std::chrono::milliseconds timeout) const {
  const parsed_card there = parse_card(card);
  std::optional<address> where;
  if (options_.over_unix && there.over_unix && there.host_id == options_.host_id)
    where = there.over_unix;
  else if (options_.over_tcp)
    where = there.over_tcp;
  if (!where)
    throw error(errc::address_unusable, "rank " + std::to_string(mine.to) + " listens at \"" + card +
                                            "\", which this rank (\"" + this->card() +
                                            "\") cannot reach: ranks on several hosts need TCP and a job key");
  connection made = co_await connect_authenticated(*where, options_.secret, mine, timeout);
  limit_silence(made.socket, options_.link_timeout);
  co_return std::move(made.socket);
}

void listening_point::close() {
  if (unix_) unix_->close();
  if (tcp_) tcp_->close();
}

}  // namespace weft::detail
