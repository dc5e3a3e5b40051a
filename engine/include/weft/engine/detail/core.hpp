// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/coro/completion.hpp>
#include <weft/engine/buffer.hpp>
#include <weft/engine/operation_details.hpp>
#include <weft/engine/peer.hpp>
#include <weft/engine/stats.hpp>
#include <weft/serializers/byte_buffer.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/cancellation_type.hpp>

#include <memory>
#include <span>

/// The seam between the templates of the public face and the engine, which is compiled once.
namespace weft::detail {

class engine_core;
struct device_block;

/// Keeps a buffer alive that the engine was given to own.
struct owned_memory {
  virtual ~owned_memory() = default;
};

/// What the engine completes an operation with.
struct outcome {
  operation_details details;
  serializers::byte_buffer frame;  ///< of a receive of objects
};

using waiter = coro::waiter<outcome>;

/// One operation as the caller describes it.
struct operation_request {
  operation_kind operation = operation_kind::none;
  destination to;  ///< of a send
  origin from;     ///< of a receive
  payload_kind kind = payload_kind::buffer;
  std::uint64_t fingerprint = 0;
  std::span<const const_buffer_view> pieces;  ///< read only during the call that starts; a receive writes to them
  serializers::byte_buffer frame;             ///< objects to send, instead of pieces
  std::shared_ptr<owned_memory> owner;        ///< kept until the operation is over
  detail::waiter* waiter = nullptr;
};

// From any thread. A start never completes its waiter before it returns.

/// Starts all, in order, before any other operation can come in between.
void start(engine_core& core, std::span<operation_request> requests);
/// Asks for an early end. The waiter is still completed once. `total` alone asks for an end without any effect; partial
/// and terminal also let the waiter of an owned buffer leave before a transfer that cannot be taken back.
void cancel(engine_core& core, waiter& who, boost::asio::cancellation_type kinds) noexcept;
/// The waiter goes away; the operation is carried out or withdrawn without it.
void abandon(engine_core& core, waiter& who) noexcept;
/// Completes a waiter for which nothing was started, after this call has returned.
void complete_soon(engine_core& core, waiter& who, boost::system::error_code code, operation_details details);

[[nodiscard]] int rank(const engine_core& core) noexcept;
[[nodiscard]] int world_size(const engine_core& core) noexcept;
[[nodiscard]] communicator_stats stats(engine_core& core);
[[nodiscard]] const boost::asio::any_io_executor& executor(const engine_core& core) noexcept;

/// Memory of this rank's device. Throws std::bad_alloc.
[[nodiscard]] std::shared_ptr<device_block> allocate(engine_core& core, std::size_t bytes, element_type element);

/// An empty buffer, with capacity from earlier frames where there is one; and its way back.
[[nodiscard]] serializers::byte_buffer take_frame(engine_core& core);
void return_frame(engine_core& core, serializers::byte_buffer frame) noexcept;

}  // namespace weft::detail
