// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/engine/communicator.hpp>
#include <weft/serializers/fingerprint.hpp>
#include <weft/serializers/frame.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <exception>
#include <memory>
#include <tuple>
#include <utility>

namespace weft {

namespace detail {

/// Sends objects as one frame. Objects given as rvalues are kept in the description, others are referred to until the
/// operation starts, which is when they are serialized.
template <class... Stored>
class send_objects_source : public operation_source_base {
 public:
  using result_type = sent;

  send_objects_source(place within, destination where, Stored... objects)
      : operation_source_base(std::move(within)), where_(where), objects_(std::forward<Stored>(objects)...) {}

  void start(waiter& who) {
    operation_request wanted;
    wanted.set(where_);
    wanted.kind = payload_kind::objects;
    wanted.fingerprint = serializers::type_fingerprint<std::remove_cvref_t<Stored>...>();
    wanted.frame = take_frame(*place_.core);
    try {
      std::apply([&](const auto&... object) { serializers::encode(wanted.frame, object...); }, objects_);
    } catch (const std::exception& problem) {
      operation_details details;
      details.operation = operation_kind::send;
      details.peer = where_.rank;
      details.tag = where_.tag;
      details.here.kind = payload_kind::objects;
      details.reason = problem.what();
      return detail::complete_soon(*place_.core, who, errc::unserializable, std::move(details));
    }
    begin(std::move(wanted), who);
  }
  [[nodiscard]] static sent finish(const boost::system::error_code& code, outcome&& ended) {
    if (code == errc::object_type_mismatch)
      name_types(ended.details, serializers::joined_type_names<std::remove_cvref_t<Stored>...>());
    return {std::move(ended.details)};
  }

 private:
  destination where_;
  std::tuple<Stored...> objects_;
};

/// Receives one frame and decodes it where the completion is delivered, outside of the engine's lock.
template <class... Ts>
class receive_objects_source : public operation_source_base {
 public:
  using result_type = received_objects<Ts...>;

  receive_objects_source(place within, origin where) : operation_source_base(std::move(within)), where_(where) {}

  void start(waiter& who) {
    operation_request wanted;
    wanted.set(where_);
    wanted.kind = payload_kind::objects;
    wanted.fingerprint = serializers::type_fingerprint<Ts...>();
    begin(std::move(wanted), who);
  }

  [[nodiscard]] result_type finish(boost::system::error_code& code, outcome&& ended) {
    if (code == errc::object_type_mismatch) name_types(ended.details, serializers::joined_type_names<Ts...>());
    result_type result{envelope_of(ended.details), {}, std::move(ended.details)};
    if (!code) {
      try {
        result.values = serializers::decode<Ts...>(ended.frame.bytes(), serializers::limits{});
      } catch (const std::exception& problem) {
        code = errc::malformed_frame;
        result.details.reason = problem.what();
      }
    }
    return_frame(*place_.core, std::move(ended.frame));
    return result;
  }

 private:
  origin where_;
};

}  // namespace detail

/// Sends objects as one message; `recv_objects` with the same types receives it. Objects given as rvalues are moved
/// into the operation; those given as lvalues must live until it is started (awaiting it at once is enough).
/// Completion: `void(boost::system::error_code, sent)`.
template <class... Ts>
[[nodiscard]] auto send_objects(const communicator& comm, destination where, Ts&&... objects) {
  using source = detail::send_objects_source<Ts...>;
  return coro::async_operation<source>(source(comm.place(), where, std::forward<Ts>(objects)...));
}

/// Receives a message of objects of exactly these types: `auto [envelope, a, b] = co_await recv_objects<A, B>(...)`.
/// The types are compared by fingerprint before a byte is decoded; each must be default-constructible.
/// Completion: `void(boost::system::error_code, received_objects<Ts...>)`.
template <class... Ts>
[[nodiscard]] auto recv_objects(const communicator& comm, origin where) {
  using source = detail::receive_objects_source<Ts...>;
  return coro::async_operation<source>(source(comm.place(), where));
}

}  // namespace weft
