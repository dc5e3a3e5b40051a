// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/engine/communicator.hpp>
#include <weft/engine/options.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <memory>

namespace weft {

/// One rank: its links, its launch thread, and on rank 0 the sequencer.
///
/// `engine engine{executor, options}; auto comm = co_await engine.join(); ... co_await engine.close();`
///
/// Links, matching and completions run on the executor given, which may have several threads. The engine must be
/// destroyed before the execution context is. Destroying it without `close` breaks its links: other ranks see
/// `peer_lost`, and its own operations end as `closed`. From `join` to the end of `close` its links are work for the
/// context: `io_context::run` does not return before.
class engine {
 public:
  /// Throws `weft::error` with `errc::invalid_option` that names an option whose value cannot be taken.
  engine(boost::asio::any_io_executor executor, engine_options options);
  ~engine();
  /// What was moved from can only be destroyed.
  engine(engine&&) noexcept;
  engine& operator=(engine&&) = delete;

  /// Meets the other ranks, and yields this rank's place among them. Once per engine. Throws `weft::error`: the
  /// rendezvous codes name who is missing or who disagrees.
  [[nodiscard]] boost::asio::awaitable<communicator> join();

  /// Fails what is not matched as `closed`, carries out the rest, and says goodbye: the other ranks see `peer_left`.
  /// On rank 0 it completes once all other ranks have left, because it orders their transfers until then.
  [[nodiscard]] boost::asio::awaitable<void> close();

 private:
  std::shared_ptr<detail::engine_core> core_;
};

}  // namespace weft
