// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "link/byte_stream.hpp"
#include "link/handshake.hpp"
#include "link/rendezvous_messages.hpp"
#include "link/timed_stream.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

namespace weft::detail {

/// Rank 0's view of a rendezvous: who has come, and who still waits to be told. It ends when all have come, or when the
/// first of those present runs out of time, since then the whole cannot succeed. On one strand; shared by rank 0 and
/// the coroutines that serve the others.
class gathering : public std::enable_shared_from_this<gathering> {
 public:
  gathering(const boost::asio::any_io_executor& strand, int world_size, contribution own);

  /// Serves a rank that is authenticated.
  void take(const hello& client, stream_socket socket);
  /// Keeps a sentence about someone who was refused, for the message about those who are missing.
  void note(const std::string& text);

  /// "rank 3 of 4"
  [[nodiscard]] std::string missing() const;
  /// Until all have come, or time is up.
  boost::asio::awaitable<void> wait();
  /// Tells all who wait how it ended, and yields it: cards, or who is missing.
  boost::asio::awaitable<reply> conclude();
  /// Hangs up on all who wait.
  void abandon();

 private:
  using clock = std::chrono::steady_clock;
  enum class life : std::uint8_t { open, ended, abandoned };

  [[nodiscard]] bool complete() const noexcept { return joined_ == cards_.size(); }
  [[nodiscard]] std::string conflict(const hello& client, const contribution& what) const;
  [[nodiscard]] reply outcome() const;
  void add(int rank, const contribution& what);
  void remove(int rank);

  boost::asio::awaitable<void> serve(std::shared_ptr<gathering> self, hello client, stream_socket socket);
  boost::asio::awaitable<std::optional<int>> admit(const hello& client, timed_stream& stream);
  boost::asio::awaitable<void> stay(stream_socket& socket);
  boost::asio::awaitable<void> tell(stream_socket socket);

  boost::asio::any_io_executor strand_;
  clock::time_point began_ = clock::now();
  clock::time_point deadline_;
  boost::asio::steady_timer changed_;
  std::vector<std::optional<std::string>> cards_;
  std::vector<std::string> who_;
  std::size_t joined_ = 0;
  std::set<std::string> notes_;
  std::unordered_set<stream_socket*> waiting_;
  std::size_t untold_ = 0;
  std::vector<std::byte> last_word_;
  life life_ = life::open;
};

}  // namespace weft::detail
