// SPDX-License-Identifier: Apache-2.0
#include "peer_links.hpp"

#include <algorithm>
#include <utility>

namespace weft::detail {

bool peer_links::send(int rank, std::uint8_t type, std::span<const std::byte> body, memory_cursor payload,
                      std::size_t payload_bytes) {
  peer_link& peer = at(rank);
  switch (peer.state) {
    case link_state::gone:
      return false;
    case link_state::open:
      peer.link->append_bytes(type, body, payload, payload_bytes);
      mark(rank);
      return false;
    default:
      break;
  }
  append_message(peer.backlog, type, body, payload, payload_bytes);
  if (peer.state != link_state::none) return false;
  peer.state = link_state::connecting;
  return true;
}

void peer_links::stream(int rank, std::uint64_t job, std::uint64_t target, memory_cursor payload, std::uint64_t bytes) {
  peer_link& peer = at(rank);
  if (peer.state != link_state::open) return;
  peer.link->stream(job, target, payload, bytes);
  mark(rank);
}

verdict peer_links::admit(int self, int from) {
  peer_link& peer = at(from);
  switch (peer.state) {
    case link_state::none:
      peer.state = link_state::incoming;
      return verdict::accepted;
    case link_state::incoming:
      return verdict::accepted;
    case link_state::connecting:
      if (self < from) return verdict::busy;
      peer.state = link_state::incoming;
      return verdict::accepted;
    case link_state::open:
      return verdict::busy;
    case link_state::gone:
      break;
  }
  return verdict::unknown_incarnation;
}

void peer_links::open(int rank, std::shared_ptr<message_link> link) {
  peer_link& peer = at(rank);
  peer.state = link_state::open;
  peer.link = std::move(link);
  peer.link->adopt(std::exchange(peer.backlog, {}));
  mark(rank);
}

void peer_links::drop(int rank) {
  peer_link& peer = at(rank);
  if (peer.link) peer.link->close();
  peer.link.reset();
  peer.backlog.clear();
  peer.state = link_state::gone;
}

void peer_links::mark(int rank) {
  if (!std::exchange(at(rank).dirty, true)) dirty_.push_back(rank);
}

void peer_links::flush() {
  // A failing write drops links and may mark others: by index.
  for (std::size_t i = 0; i < dirty_.size(); ++i) {
    peer_link& peer = at(dirty_[i]);
    peer.dirty = false;
    if (const auto link = peer.link) link->flush();
  }
  dirty_.clear();
}

bool peer_links::has_output() const noexcept {
  return std::any_of(peers_.begin(), peers_.end(), [](const peer_link& peer) {
    return !peer.backlog.empty() || (peer.link && peer.link->has_output());
  });
}

std::uint64_t peer_links::open_count() const noexcept {
  return static_cast<std::uint64_t>(std::count_if(
      peers_.begin(), peers_.end(), [](const peer_link& peer) { return peer.state == link_state::open; }));
}

}  // namespace weft::detail
