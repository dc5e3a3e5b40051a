// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "link/byte_source.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// What goes over an authenticated connection between rank 0 and another rank that joins: one contribution, one reply.
/// Lengths are checked before anything is allocated; who sends longer ones gets `errc::malformed_message`.
namespace weft::detail {

/// From a rank that joins.
struct contribution {
  std::string who;  ///< for messages about conflicts
  std::string card;
  std::chrono::milliseconds patience{};  ///< how long it can still wait
};

enum class reply_kind : std::uint8_t {
  cards,      ///< one text per rank
  conflict,   ///< one text: why this rank cannot join
  timed_out,  ///< one text: who is missing
};

struct reply {
  reply_kind kind = reply_kind::cards;
  std::vector<std::string> texts;
};

[[nodiscard]] std::vector<std::byte> encode(const contribution& what);
[[nodiscard]] std::vector<std::byte> encode(const reply& what);

[[nodiscard]] boost::asio::awaitable<contribution> read_contribution(byte_source& from);
[[nodiscard]] boost::asio::awaitable<reply> read_reply(byte_source& from, int world_size);

}  // namespace weft::detail
