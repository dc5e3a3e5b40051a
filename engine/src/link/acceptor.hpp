// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "link/address.hpp"
#include "link/byte_stream.hpp"
#include "link/credentials.hpp"
#include "link/handshake.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <functional>
#include <memory>
#include <string>

namespace weft::detail {

/// Called one at a time, on the executor of the acceptor. One that throws refuses the
/// connection.
struct acceptor_callbacks {
  /// A client has proved that it holds the key: may it come in?
  std::function<verdict(const hello&)> admit;
  /// Follows every `admit` that said `accepted`, at once, unless that closed the acceptor. A connection that broke
  /// meanwhile shows it at its first use.
  std::function<void(const hello&, stream_socket)> accepted;
  /// A sentence about a stranger that was refused, or about a failure to accept. May be empty.
  std::function<void(std::string)> report;
};

/// Listens, and lets in who proves to hold the job's key. Any number of handshakes go on at once, each for a limited
/// time, so that a silent stranger delays nobody.
class acceptor {
 public:
  /// A Unix address without a name gets one that nobody can guess, port 0 one that is free. At a TCP address whose host
  /// is a name it listens on all interfaces, because a name may mean different interfaces on different hosts.
  /// Without a key only Unix sockets, and only processes of this user, are admitted.
  /// Throws `weft::error`: `address_in_use`, `address_unusable` or `job_key_required`.
  acceptor(const boost::asio::any_io_executor& executor, const address& where, credentials secret,
           acceptor_callbacks callbacks);
  /// Closes.
  ~acceptor();
  acceptor(acceptor&&) noexcept = default;
  acceptor& operator=(acceptor&&) = delete;

  /// With the name or the port that it got.
  [[nodiscard]] const address& local_address() const noexcept { return local_; }

  /// Ends the handshakes under way and frees the address: at once where it is called on the executor, else as soon as
  /// the executor comes to it. No callback begins any more; with several threads one may be under way in another.
  void close();

 private:
  class service;

  address local_;
  // Shared with handlers that may still be on their way when the acceptor is gone.
  std::shared_ptr<service> service_;
};

}  // namespace weft::detail
