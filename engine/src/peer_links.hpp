// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "link/listening_point.hpp"
#include "link/message_link.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace weft::detail {

enum class link_state : std::uint8_t {
  none,        ///< never needed
  connecting,  ///< this end dials
  incoming,    ///< the other end was admitted, or is about to dial because its attempt wins
  open,
  gone,
};

/// One peer as the links see it.
struct peer_link {
  link_state state = link_state::none;
  std::shared_ptr<message_link> link;
  std::vector<std::byte> backlog;  ///< messages that wait for the link
  bool dirty = false;              ///< has output for the next flush
};

/// The links to all other ranks, opened on first need by whichever side needs one. If both dial at once the lower
/// rank's attempt stands and the higher one's is refused as busy. Not thread-safe: under the engine's lock.
class peer_links {
 public:
  explicit peer_links(std::size_t ranks) : peers_(ranks) {}

  [[nodiscard]] peer_link& at(int rank) { return peers_[static_cast<std::size_t>(rank)]; }

  /// Puts a message on the link, or behind the others that wait for it. True: somebody must dial now.
  [[nodiscard]] bool send(int rank, std::uint8_t type, std::span<const std::byte> body, memory_cursor payload,
                          std::size_t payload_bytes);
  /// Payload was asked for from that rank.
  void expect_raw(int rank) {
    if (const auto& link = at(rank).link) link->expect_raw();
  }
  void stream(int rank, std::uint64_t job, std::uint64_t target, memory_cursor payload, std::uint64_t bytes);

  /// Whether a dialling rank may come in.
  [[nodiscard]] verdict admit(int self, int from);
  /// Installs a link and hands it what waited.
  void open(int rank, std::shared_ptr<message_link> link);
  /// Closes without a word and forgets what waited.
  void drop(int rank);

  /// Writes what was put on links since the last flush.
  void flush();
  [[nodiscard]] bool has_output() const noexcept;
  [[nodiscard]] std::uint64_t open_count() const noexcept;

 private:
  void mark(int rank);

  std::vector<peer_link> peers_;
  std::vector<int> dirty_;
};

}  // namespace weft::detail
