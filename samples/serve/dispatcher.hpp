// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/system/error_code.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace serve {

/// One attempt at a request: who works on it, and the tag of the answer.
struct place {
  int worker = 0;
  std::uint64_t tag = 0;
};

/// Which worker has how many requests, and who gets the next one. It decides and does nothing else: no clock, no
/// message, no socket.
class dispatcher {
 public:
  enum class state : std::uint8_t { expected, ready, lost };

  struct worker {
    dispatcher::state state = state::expected;
    std::int64_t pid = 0;
    int in_flight = 0;
    std::uint64_t taken = 0;  ///< attempts so far
  };

  /// Workers are the ranks from 1 to `workers`; each takes up to `capacity` requests at a time.
  dispatcher(int workers, int capacity);

  void ready(int rank, std::int64_t pid);
  void lose(int rank);

  /// A place at the least busy worker, in turn among equals; nothing where all are full or lost. Tags only ever rise.
  [[nodiscard]] std::optional<place> take();
  void give_back(place where);

  [[nodiscard]] bool any_ready() const;
  [[nodiscard]] int in_flight() const;
  /// By rank, from rank 1.
  [[nodiscard]] const std::vector<worker>& workers() const noexcept { return workers_; }

 private:
  [[nodiscard]] worker& at(int rank) { return workers_[static_cast<std::size_t>(rank - 1)]; }
  [[nodiscard]] bool has_room(const worker& one) const;

  std::vector<worker> workers_;
  int capacity_;
  std::size_t next_ = 0;  ///< with whom the search begins
  std::uint64_t next_tag_;
};

/// What becomes of a request.
enum class ending : std::uint8_t {
  answered,
  refused,      ///< no worker has room: 503
  failed,       ///< no worker is left, or the answer cannot be read: 502
  too_late,     ///< the deadline passed before the answer began: 504
  cut_off,      ///< the answer had begun and cannot be completed: the connection is closed
  client_left,  ///< nobody waits for it
};

/// Of an attempt that failed: how the request ends; nothing where another worker may try. Only a worker that went
/// before its answer began is made up for: what a client has seen of an answer cannot be taken back.
[[nodiscard]] std::optional<ending> after_failure(const boost::system::error_code& why, bool begun);

}  // namespace serve
