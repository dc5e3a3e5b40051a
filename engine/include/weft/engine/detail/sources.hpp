// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/coro/async_operation.hpp>
#include <weft/engine/detail/core.hpp>
#include <weft/engine/launch_lease.hpp>
#include <weft/engine/result.hpp>

#include <concepts>
#include <memory>
#include <span>
#include <utility>
#include <vector>

/// The descriptions of operations that `coro::async_operation` starts.
namespace weft::detail {

/// What every description has: a place in a group, and the calls that need nothing else.
class operation_source_base {
 public:
  using raw_type = outcome;
  static constexpr bool completes_on_its_executor = true;

  explicit operation_source_base(place where) : place_(std::move(where)) {}

  void check() const {
    if (place_.core == nullptr) refuse_start();
  }
  void cancel(waiter& who, boost::asio::cancellation_type kinds) noexcept { detail::cancel(*place_.core, who, kinds); }
  void abandon(waiter& who) noexcept { detail::abandon(*place_.core, who); }
  [[nodiscard]] boost::asio::any_io_executor get_executor() const { return detail::executor(*place_.core); }

 protected:
  void begin(operation_request request, waiter& who) {
    request.group = place_.group;
    request.waiter = &who;
    detail::start(*place_.core, std::span(&request, 1));
  }

  place place_;
};

/// The views of one message: one in place, or several on the heap.
class view_list {
 public:
  view_list() = default;
  explicit view_list(const_buffer_view single) : single_(single) {}
  explicit view_list(std::vector<const_buffer_view> many) : many_(std::move(many)), is_many_(true) {}

  [[nodiscard]] std::span<const const_buffer_view> pieces() const noexcept {
    return is_many_ ? std::span<const const_buffer_view>(many_) : std::span(&single_, 1);
  }

 private:
  const_buffer_view single_{};
  std::vector<const_buffer_view> many_;
  bool is_many_ = false;
};

/// Envelope of a receive as it ended.
[[nodiscard]] inline envelope envelope_of(const operation_details& details) noexcept {
  return {details.peer, details.tag, details.here.bytes};
}

/// One end of a transfer of buffers: `Address` is a destination or an origin.
template <class Address, class Result>
class buffer_source : public operation_source_base {
 public:
  using result_type = Result;

  buffer_source(place within, view_list views, Address address, std::shared_ptr<owned_memory> owner = nullptr)
      : operation_source_base(std::move(within)),
        views_(std::move(views)),
        address_(address),
        owner_(std::move(owner)) {}

  void start(waiter& who) {
    operation_request wanted;
    wanted.set(address_);
    wanted.pieces = views_.pieces();
    wanted.owner = std::move(owner_);
    begin(std::move(wanted), who);
  }
  [[nodiscard]] static result_type finish(boost::system::error_code&, outcome&& ended) {
    if constexpr (std::derived_from<result_type, envelope>)
      return {envelope_of(ended.details), std::move(ended.details)};
    else
      return {std::move(ended.details)};
  }

 private:
  view_list views_;
  Address address_;
  std::shared_ptr<owned_memory> owner_;
};

class reserve_source : public operation_source_base {
 public:
  using result_type = reserved;

  reserve_source(place within, std::vector<int> peers)
      : operation_source_base(std::move(within)), peers_(std::move(peers)) {}

  void start(waiter& who) { start_reserve(*place_.core, who, *place_.group, peers_); }
  void cancel(waiter& who, boost::asio::cancellation_type) noexcept { cancel_reserve(*place_.core, who); }
  void abandon(waiter& who) noexcept { abandon_reserve(*place_.core, who); }
  [[nodiscard]] static result_type finish(boost::system::error_code&, outcome&& ended) {
    return {std::move(ended.details)};
  }

 private:
  std::vector<int> peers_;
};

class lease_source : public operation_source_base {
 public:
  using result_type = launch_lease;

  using operation_source_base::operation_source_base;

  void start(waiter& who) { start_lease(*place_.core, who, *place_.group); }
  void cancel(waiter& who, boost::asio::cancellation_type) noexcept { cancel_lease(*place_.core, who); }
  void abandon(waiter& who) noexcept { abandon_lease(*place_.core, who); }
  [[nodiscard]] static result_type finish(boost::system::error_code&, outcome&& ended) {
    return {std::move(ended.lease), std::move(ended.details)};
  }
};

using send_source = buffer_source<destination, sent>;
using receive_source = buffer_source<origin, received>;

}  // namespace weft::detail
