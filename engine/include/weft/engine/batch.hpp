// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/engine/detail/sources.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace weft {

namespace detail {

/// One operation of a batch that has not started.
struct batch_item {
  operation_kind operation = operation_kind::none;
  view_list views;
  destination to;
  origin from;
  payload_kind kind = payload_kind::buffer;
  std::uint64_t fingerprint = 0;          ///< of objects
  std::uint64_t head = 0;                 ///< of objects: as in `operation_request`
  bool borrows = false;                   ///< objects: parts of the views are the caller's memory
  std::shared_ptr<owned_memory> owner{};  ///< of the memory
};

/// The waiters of a batch's operations, and the count of those that are not over.
class batch_state {
 public:
  batch_state(place within, std::vector<batch_item> items);
  ~batch_state();

  void start(waiter& who);
  void cancel(boost::asio::cancellation_type kinds) noexcept;
  /// No member completes from here on.
  void abandon() noexcept;
  [[nodiscard]] batch_result take_result(boost::system::error_code& code);

 private:
  class member;
  void finish_one();

  place place_;
  std::vector<batch_item> items_;
  std::vector<std::unique_ptr<member>> members_;
  std::atomic<std::size_t> unfinished_ = 0;
  waiter* who_ = nullptr;
};

class batch_source {
 public:
  using raw_type = outcome;
  using result_type = batch_result;
  static constexpr bool completes_on_its_executor = true;

  batch_source(const place& within, std::vector<batch_item> items)
      : core_(within.core), state_(std::make_unique<batch_state>(within, std::move(items))) {}

  void check() const {
    if (core_ == nullptr) refuse_start();
  }
  void start(waiter& who) { state_->start(who); }
  void cancel(waiter&, boost::asio::cancellation_type kinds) noexcept { state_->cancel(kinds); }
  void abandon(waiter&) noexcept { state_->abandon(); }
  [[nodiscard]] batch_result finish(boost::system::error_code& code, outcome&&) { return state_->take_result(code); }
  [[nodiscard]] boost::asio::any_io_executor get_executor() const { return detail::executor(*core_); }

 private:
  std::shared_ptr<engine_core> core_;
  std::unique_ptr<batch_state> state_;
};

}  // namespace detail

/// Sends and receives that are submitted together, in the order in which they were added, before any other operation
/// of this rank comes in between. The memory of every view must stay until the batch completes.
class batch {
 public:
  /// Adds a send from one contiguous range, or from a sequence of buffer views.
  template <class Buffer>
  batch& send(const Buffer& buffer, destination where);

  /// Adds a receive into one contiguous range, or into a sequence of buffer views.
  template <class Buffer>
  batch& recv(Buffer&& buffer, origin where);

  /// How many operations were added.
  [[nodiscard]] std::size_t size() const noexcept { return items_.size(); }

 private:
  friend class communicator;

  std::vector<detail::batch_item> items_;
};

}  // namespace weft
