// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace weft {

/// How the ranks of a job find each other: every rank contributes a card and obtains the cards of all.
/// Implement it over a store of your own (etcd, Redis) by writing the card under the rank's key and reading all others.
class rendezvous {
 public:
  virtual ~rendezvous() = default;

  /// Called once per engine, on the engine's executor. A card is a short printable text (under 4 KiB) that holds
  /// addresses and no secret; the result has the card of rank r at index r.
  /// Throws `weft::error` with `errc::rendezvous_timed_out` that names the missing ranks once `timeout` has passed.
  virtual boost::asio::awaitable<std::vector<std::string>> exchange(int rank, int world_size, std::string card,
                                                                    std::chrono::milliseconds timeout) = 0;
};

/// For ranks that are threads, or engines, of one process: all of them share one object. Throws `weft::error` with
/// `errc::invalid_option` unless `world_size` is from 1 to `largest_world_size`.
[[nodiscard]] std::shared_ptr<rendezvous> make_in_process_rendezvous(int world_size);

/// Rank 0 listens at `address` ("host:port", or "unix:name" on one host), the others connect.
/// Without a job key the address must be on this host and only processes of this user are admitted.
[[nodiscard]] std::shared_ptr<rendezvous> make_socket_rendezvous(std::string address, std::string job_key);

}  // namespace weft
