// SPDX-License-Identifier: Apache-2.0
// The exchanges of peers whose calls block.
#pragma once

#include "measure.hpp"

namespace peers {

/// An end that starts a message in one of the slots in flight, and ends it later.
template <class End>
concept overlapping = requires(End& end, std::size_t slot, const_bytes outgoing, bytes incoming) {
  end.start_send(slot, outgoing);
  end.finish_send(slot);
  end.start_receive(slot, incoming);
  end.finish_receive(slot);
};

template <class End>
void ping_pong(End& end, exchange& all, std::uint64_t units) {
  const const_bytes outgoing = all.outgoing;
  const bytes incoming = all.incoming.front();
  for (; units > 0; --units) {
    const auto before = exchange::clock::now();
    if (all.own.leads()) end.send(outgoing);
    end.receive(incoming);
    if (!all.own.leads()) end.send(outgoing);
    if (all.own.leads()) all.record(before);
  }
}

// The receiver answers after each half of the window: so no more than the window is ever in flight.
inline std::size_t answered_at_once(const exchange& all) {
  return all.what.in_flight() / 2;
}

template <class End>
void stream_out(End& end, exchange& all, std::uint64_t messages) {
  const std::size_t window = all.what.in_flight();
  std::size_t unanswered = 0;
  std::array<std::byte, 8> answer;
  const auto await_answer = [&] {
    end.receive(answer);
    unanswered -= answered_at_once(all);
  };
  for (std::uint64_t i = 0; i < messages; ++i, ++unanswered) {
    if (unanswered == window) await_answer();
    if constexpr (overlapping<End>) {
      if (i >= window) end.finish_send(i % window);
      end.start_send(i % window, all.outgoing);
    } else {
      end.send(all.outgoing);
    }
  }
  // Answers first: the other end may send them in such a way that it waits for their receive.
  while (unanswered > 0) await_answer();
  if constexpr (overlapping<End>)
    for (std::size_t slot = 0; slot < window; ++slot) end.finish_send(slot);
}

template <class End>
void stream_in(End& end, exchange& all, std::uint64_t messages) {
  const std::size_t window = all.what.in_flight();
  constexpr std::array<std::byte, 8> answer{};
  if constexpr (overlapping<End>)
    for (std::size_t slot = 0; slot < window; ++slot) end.start_receive(slot, all.incoming[slot]);
  for (std::uint64_t i = 0; i < messages; ++i) {
    const std::size_t slot = i % window;
    if constexpr (overlapping<End>) {
      end.finish_receive(slot);
      if (i + window < messages) end.start_receive(slot, all.incoming[slot]);
    } else {
      end.receive(all.incoming[slot]);
    }
    if ((i + 1) % answered_at_once(all) == 0) end.send(answer);
  }
}

/// Measures an end that has `send(const_bytes)` and `receive(bytes)`, and prints the figures.
template <class End>
void measure_blocking(std::string_view peer, std::string_view version, End& end, exchange& all) {
  measure(peer, version, all, [&](std::uint64_t units) {
    if (all.what.is_ping_pong()) return ping_pong(end, all, units);
    const std::uint64_t messages = units * all.what.in_flight();
    return all.own.leads() ? stream_out(end, all, messages) : stream_in(end, all, messages);
  });
}

}  // namespace peers
