// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocol/mutation.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace weft::protocol {

/// Peers of one rank in one batch. NCCL packs at most 8 point-to-point works of a channel into one launch; it cuts
/// wider groups into several, not always at the same place on each rank, which then hang (pytorch #174288, Megatron-LM
/// #7189).
inline constexpr std::size_t max_peers_per_batch = 8;

/// Keeps the batch being formed within that cap on each of its ranks.
class batch_shape {
 public:
  explicit batch_shape(int ranks) : peers_(static_cast<std::size_t>(ranks)) {}

  /// Whether a transfer fits in; if so, it counts from now on. A rank that sends to itself is a peer of its own.
  [[nodiscard]] bool admit(int source, int destination) {
    if (is_mutated(mutation::no_caps)) return true;
    if (!has_room(source, destination) || !has_room(destination, source)) return false;
    add(source, destination);
    if (source != destination) add(destination, source);
    return true;
  }

  /// The next batch begins.
  void clear() {
    for (const int rank : ranks_) peers_of(rank).clear();
    ranks_.clear();
  }

 private:
  std::vector<int>& peers_of(int rank) { return peers_[static_cast<std::size_t>(rank)]; }

  bool knows(int rank, int peer) {
    const std::vector<int>& peers = peers_of(rank);
    return std::find(peers.begin(), peers.end(), peer) != peers.end();
  }

  bool has_room(int rank, int peer) { return peers_of(rank).size() < max_peers_per_batch || knows(rank, peer); }

  void add(int rank, int peer) {
    if (knows(rank, peer)) return;
    if (peers_of(rank).empty()) ranks_.push_back(rank);
    peers_of(rank).push_back(peer);
  }

  std::vector<std::vector<int>> peers_;  ///< by rank
  std::vector<int> ranks_;               ///< that have peers
};

}  // namespace weft::protocol
