// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/engine/communicator.hpp>
#include <weft/engine/detail/many_source.hpp>
#include <weft/engine/detail/object_sources.hpp>

#include <optional>
#include <tuple>
#include <utility>

namespace weft {

/// Sends objects as one message; `recv_objects` with the same types receives it. Objects given as rvalues are moved
/// into the operation; those given as lvalues must stay as they are until it completes, because large ranges of numbers
/// within them (`engine_options::segment_threshold`) are sent from where they lie.
/// Completion: `void(boost::system::error_code, sent)`.
template <class... Ts>
[[nodiscard]] auto send_objects(const communicator& comm, destination where, Ts&&... objects) {
  using source = detail::send_objects_source<serializers::binary, Ts...>;
  return coro::async_operation<source>(source(comm.place(), where, std::forward<Ts>(objects)...));
}
/// The same in a format: `send_objects<weft::json>(comm, to(1, 2), a, b)`, with `weft/serializers/json.hpp`.
template <serializers::frame_format Format, class... Ts>
[[nodiscard]] auto send_objects(const communicator& comm, destination where, Ts&&... objects) {
  using source = detail::send_objects_source<Format, Ts...>;
  return coro::async_operation<source>(source(comm.place(), where, std::forward<Ts>(objects)...));
}

/// The same to several ranks, `to(ranks, tag)`: the objects are serialized once. Completes with the code of the first
/// send that failed, once all have ended; with `as_tuple` the result has one entry for each rank, in their order.
/// Completion: `void(boost::system::error_code, batch_result)`.
template <class... Ts>
[[nodiscard]] auto send_objects(const communicator& comm, destinations where, Ts&&... objects) {
  using source = detail::send_to_many_source<serializers::binary, Ts...>;
  return coro::async_operation<source>(source(comm.place(), where, std::forward<Ts>(objects)...));
}
/// The same in a format.
template <serializers::frame_format Format, class... Ts>
[[nodiscard]] auto send_objects(const communicator& comm, destinations where, Ts&&... objects) {
  using source = detail::send_to_many_source<Format, Ts...>;
  return coro::async_operation<source>(source(comm.place(), where, std::forward<Ts>(objects)...));
}

/// Receives a message of objects of exactly these types: `auto [envelope, a, b] = co_await recv_objects<A, B>(...)`.
/// The types are compared by fingerprint before a byte is decoded; each must be default-constructible. `bounds` take
/// the place of `engine_options::object_limits` for this message.
/// Completion: `void(boost::system::error_code, received_objects<Ts...>)`.
template <class... Ts>
requires(!serializers::frame_format<Ts> && ...)
    [[nodiscard]] auto recv_objects(const communicator& comm, origin where,
                                    std::optional<serializers::limits> bounds = std::nullopt) {
  using source = detail::receive_objects_source<detail::posted_receive, serializers::binary, std::tuple<Ts...>>;
  return coro::async_operation<source>(source(comm.place(), {where}, {bounds, Ts{}...}));
}
/// The same for messages in a format as well, `recv_objects<weft::json, A, B>(comm, from(0, 2))`: each message says
/// which it has. Without this a message in any but the binary format is `errc::malformed_frame`.
template <serializers::frame_format Format, class... Ts>
[[nodiscard]] auto recv_objects(const communicator& comm, origin where,
                                std::optional<serializers::limits> bounds = std::nullopt) {
  using source = detail::receive_objects_source<detail::posted_receive, Format, std::tuple<Ts...>>;
  return coro::async_operation<source>(source(comm.place(), {where}, {bounds, Ts{}...}));
}

/// Receives a message of objects of exactly these types into existing ones, whose capacity is used again; they must
/// stay until the operation completes. Where it fails they hold valid values that mean nothing. Completion:
/// `void(boost::system::error_code, received)`.
template <class... Ts>
[[nodiscard]] auto recv_objects_into(const communicator& comm, origin where, Ts&... objects) {
  using source = detail::receive_objects_source<detail::posted_receive, serializers::binary, std::tuple<Ts&...>>;
  return coro::async_operation<source>(source(comm.place(), {where}, {std::nullopt, objects...}));
}
/// The same for messages in a format as well.
template <serializers::frame_format Format, class... Ts>
[[nodiscard]] auto recv_objects_into(const communicator& comm, origin where, Ts&... objects) {
  using source = detail::receive_objects_source<detail::posted_receive, Format, std::tuple<Ts&...>>;
  return coro::async_operation<source>(source(comm.place(), {where}, {std::nullopt, objects...}));
}

}  // namespace weft
