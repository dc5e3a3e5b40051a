// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/coro/async_operation.hpp>
#include <weft/engine/detail/core.hpp>
#include <weft/engine/result.hpp>

#include <array>
#include <memory>
#include <span>
#include <utility>
#include <vector>

/// The descriptions of operations that `coro::async_operation` starts.
namespace weft::detail {

/// What every description has: the engine, and the calls that need nothing else.
class operation_source_base {
 public:
  using raw_type = outcome;

  explicit operation_source_base(std::shared_ptr<engine_core> core) : core_(std::move(core)) {}

  void cancel(waiter& who, boost::asio::cancellation_type kinds) noexcept { detail::cancel(*core_, who, kinds); }
  void abandon(waiter& who) noexcept { detail::abandon(*core_, who); }
  [[nodiscard]] boost::asio::any_io_executor get_executor() const { return detail::executor(*core_); }

 protected:
  void begin(operation_request request) { detail::start(*core_, std::span(&request, 1)); }

  std::shared_ptr<engine_core> core_;
};

/// The views of one message: one in place, or several on the heap.
class view_list {
 public:
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

class send_source : public operation_source_base {
 public:
  using result_type = sent;

  send_source(std::shared_ptr<engine_core> core, view_list views, destination where,
              std::shared_ptr<owned_memory> owner = nullptr)
      : operation_source_base(std::move(core)), views_(std::move(views)), where_(where), owner_(std::move(owner)) {}

  [[nodiscard]] operation_request request() {
    operation_request wanted;
    wanted.operation = operation_kind::send;
    wanted.to = where_;
    wanted.pieces = views_.pieces();
    wanted.owner = std::move(owner_);
    return wanted;
  }
  void start(waiter& who) {
    operation_request wanted = request();
    wanted.waiter = &who;
    begin(std::move(wanted));
  }
  [[nodiscard]] static sent finish(boost::system::error_code&, outcome&& ended) { return {std::move(ended.details)}; }

 private:
  view_list views_;
  destination where_;
  std::shared_ptr<owned_memory> owner_;
};

class receive_source : public operation_source_base {
 public:
  using result_type = received;

  receive_source(std::shared_ptr<engine_core> core, view_list views, origin where,
                 std::shared_ptr<owned_memory> owner = nullptr)
      : operation_source_base(std::move(core)), views_(std::move(views)), where_(where), owner_(std::move(owner)) {}

  [[nodiscard]] operation_request request() {
    operation_request wanted;
    wanted.operation = operation_kind::receive;
    wanted.from = where_;
    wanted.pieces = views_.pieces();
    wanted.owner = std::move(owner_);
    return wanted;
  }
  void start(waiter& who) {
    operation_request wanted = request();
    wanted.waiter = &who;
    begin(std::move(wanted));
  }
  [[nodiscard]] static received finish(boost::system::error_code&, outcome&& ended) {
    return {envelope_of(ended.details), std::move(ended.details)};
  }

 private:
  view_list views_;
  origin where_;
  std::shared_ptr<owned_memory> owner_;
};

}  // namespace weft::detail
