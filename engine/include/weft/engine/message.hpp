// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/engine/communicator.hpp>
#include <weft/engine/detail/object_sources.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

namespace weft {

namespace detail {

/// The right to decide about a held message, once. Whoever lets it go refuses the message.
class held_claim {
 public:
  held_claim() = default;
  held_claim(place within, std::uint64_t held) : place_(std::move(within)), held_(held) {}
  held_claim(held_claim&& other) noexcept : place_(std::move(other.place_)), held_(std::exchange(other.held_, 0)) {}
  held_claim& operator=(held_claim&& other) noexcept {
    std::swap(place_, other.place_);
    std::swap(held_, other.held_);
    return *this;
  }
  ~held_claim() {
    if (held_ != 0) refuse(*place_.core, held_, nullptr, errc::refused, "the receiver let go of it");
  }

  [[nodiscard]] bool holds() const noexcept { return held_ != 0; }
  /// Of nothing, once it was decided.
  [[nodiscard]] const place& within() const noexcept { return place_; }
  [[nodiscard]] std::uint64_t take() noexcept { return std::exchange(held_, 0); }

 private:
  place place_;
  std::uint64_t held_ = 0;
};

/// A receive of a message that is held already.
struct held_receive {
  held_claim claim;

  void begin(const place& within, operation_request request) {
    request.operation = operation_kind::receive;
    resume(*within.core, claim.take(), std::move(request));
  }
};

/// Receives a held message into buffers.
class receive_held_source : public operation_source_base {
 public:
  using result_type = received;

  receive_held_source(held_claim claim, view_list views)
      : operation_source_base(claim.holds() ? claim.within() : place{}),
        held_{std::move(claim)},
        views_(std::move(views)) {}

  void start(waiter& who) {
    operation_request wanted;
    wanted.pieces = views_.pieces();
    wanted.waiter = &who;
    held_.begin(place_, std::move(wanted));
  }
  [[nodiscard]] static result_type finish(boost::system::error_code&, outcome&& ended) {
    return {envelope_of(ended.details), std::move(ended.details)};
  }

 private:
  held_receive held_;
  view_list views_;
};

}  // namespace detail

/// A message that a receive has matched, and of which nothing has been received: what it is can be looked at, and then
/// it is received, discarded or refused, once. A message that is let go of without a decision is refused. Where it ends
/// before the decision, because its sender took it back (`errc::withdrawn`) or is gone, the operation that would
/// receive it fails so. From one thread at a time.
class message {
 public:
  static constexpr bool raises = true;  ///< a failed `co_await` calls `raise`
  operation_details details;            ///< of the receive, also of one that failed

  /// No message.
  message() = default;
  /// Called where `recv_message` completes.
  message(detail::held_claim claim, operation_details ended) : details(std::move(ended)), claim_(std::move(claim)) {}

  /// Whether there is a message about which nothing was decided.
  explicit operator bool() const noexcept { return claim_.holds(); }

  /// Who sent it, under which tag, and how many bytes it has.
  [[nodiscard]] weft::envelope envelope() const noexcept { return detail::envelope_of(details); }
  /// Whether it holds objects, or memory.
  [[nodiscard]] payload_kind kind() const noexcept { return details.here.kind; }
  /// Of the types of its objects; see `serializers::type_fingerprint`.
  [[nodiscard]] std::uint64_t fingerprint() const noexcept { return details.here.fingerprint; }
  /// Whether it holds objects of exactly these types.
  template <class... Ts>
  [[nodiscard]] bool holds() const noexcept {
    return kind() == payload_kind::objects && fingerprint() == serializers::type_fingerprint<Ts...>();
  }
  /// What the elements of its memory are.
  [[nodiscard]] element_type element() const noexcept { return details.here.element; }

  /// Receives its objects, as `recv_objects` does.
  /// Completion: `void(boost::system::error_code, received_objects<Ts...>)`.
  template <class... Ts>
  requires(!serializers::frame_format<Ts> && ...)
      [[nodiscard]] auto get(std::optional<serializers::limits> bounds = std::nullopt) {
    return get<serializers::binary, Ts...>(bounds);
  }
  /// The same in a format as well.
  template <serializers::frame_format Format, class... Ts>
  [[nodiscard]] auto get(std::optional<serializers::limits> bounds = std::nullopt) {
    using source = detail::receive_objects_source<detail::held_receive, Format, std::tuple<Ts...>>;
    const detail::place within = place();
    return coro::async_operation<source>(source(within, {std::move(claim_)}, {bounds, Ts{}...}));
  }
  /// The same into existing objects, as `recv_objects_into` does.
  /// Completion: `void(boost::system::error_code, received)`.
  template <class... Ts>
  [[nodiscard]] auto get_into(Ts&... objects) {
    return get_into<serializers::binary>(objects...);
  }
  /// The same in a format as well.
  template <serializers::frame_format Format, class... Ts>
  [[nodiscard]] auto get_into(Ts&... objects) {
    using source = detail::receive_objects_source<detail::held_receive, Format, std::tuple<Ts&...>>;
    const detail::place within = place();
    return coro::async_operation<source>(source(within, {std::move(claim_)}, {std::nullopt, objects...}));
  }

  /// Receives its memory into a buffer or a sequence of them, as `communicator::recv` does.
  /// Completion: `void(boost::system::error_code, received)`.
  template <class Buffer>
  [[nodiscard]] auto receive_into(Buffer&& buffer) {
    return coro::async_operation<detail::receive_held_source>(
        detail::receive_held_source(std::move(claim_), detail::views_to_write(buffer)));
  }

  /// It counts as received; what has not arrived of it is not sent.
  void discard() {
    const detail::place within = place();
    if (claim_.holds()) detail::discard(*within.core, claim_.take());
  }
  /// Its sender fails with `errc::refused` and this reason, up to 1,024 characters of it, and what has not arrived is
  /// not sent. A sender whose send was complete hears of it by `engine_options::late_error`.
  void refuse(std::string reason) {
    const detail::place within = place();
    if (claim_.holds()) detail::refuse(*within.core, claim_.take(), nullptr, errc::refused, std::move(reason));
  }

  /// Throws the `weft::error` of a failed receive.
  [[noreturn]] void raise(boost::system::error_code code) const { throw error(code, details); }

 private:
  [[nodiscard]] detail::place place() const { return claim_.holds() ? claim_.within() : detail::place{}; }

  detail::held_claim claim_;
};

namespace detail {

/// Receives a message up to where its user can look at it.
class examine_source : public operation_source_base {
 public:
  using result_type = message;

  examine_source(place within, origin where) : operation_source_base(std::move(within)), where_(where) {}

  void start(waiter& who) {
    operation_request wanted;
    wanted.set(where_);
    wanted.examines = true;
    begin(std::move(wanted), who);
  }
  [[nodiscard]] message finish(boost::system::error_code&, outcome&& ended) {
    return {held_claim(place_, ended.held), std::move(ended.details)};
  }

 private:
  origin where_;
};

}  // namespace detail

/// Waits for a message of any kind and size, which can then be looked at before it is received:
/// `weft::message request = co_await recv_message(comm, from(any_source, any_tag))`. The deadline of `where` ends with
/// the match. Completion: `void(boost::system::error_code, message)`.
[[nodiscard]] inline auto recv_message(const communicator& comm, origin where) {
  return coro::async_operation<detail::examine_source>(detail::examine_source(comm.place(), where));
}

}  // namespace weft
