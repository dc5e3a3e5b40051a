// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/coro/asio_awaitable.hpp>
#include <weft/coro/async_operation.hpp>
#include <weft/coro/sync_wait.hpp>
#include <weft/engine/batch.hpp>
#include <weft/engine/buffer.hpp>
#include <weft/engine/detail/sources.hpp>
#include <weft/engine/device_buffer.hpp>
#include <weft/engine/launch_lease.hpp>
#include <weft/engine/peer.hpp>
#include <weft/engine/result.hpp>
#include <weft/engine/stats.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <ranges>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace weft {

/// What `communicator::send` returns; it yields `sent`.
using send_operation = coro::async_operation<detail::send_source>;
/// What `communicator::recv` returns; it yields `received`.
using receive_operation = coro::async_operation<detail::receive_source>;
/// What `communicator::batch` returns; it yields `batch_result`.
using batch_operation = coro::async_operation<detail::batch_source>;
/// What `communicator::reserve` returns; it yields `reserved`.
using reserve_operation = coro::async_operation<detail::reserve_source>;
/// What `communicator::launch_lease` returns; it yields `launch_lease`.
using lease_operation = coro::async_operation<detail::lease_source>;

namespace detail {
class split_source;
}
/// For `communicator::split`: in no group.
inline constexpr int no_color = -1;

namespace detail {

template <class Container>
struct owned_container final : owned_memory {
  explicit owned_container(Container&& from) : value(std::move(from)) {}
  Container value;
};

/// A container that was moved in is owned; a view or a reference is borrowed.
template <class R>
inline constexpr bool is_owned_argument =
    !std::is_reference_v<R> && !std::ranges::view<std::remove_cvref_t<R>> && !std::ranges::borrowed_range<R>;

template <class Buffer>
[[nodiscard]] view_list views_to_read(const Buffer& buffer) {
  if constexpr (std::convertible_to<const Buffer&, const_buffer_view>)
    return view_list(const_buffer_view(buffer));
  else if constexpr (contiguous_buffer<Buffer>)
    return view_list(view_of(buffer));
  else {
    static_assert(const_buffer_sequence<const Buffer>,
                  "a buffer is a view, a contiguous range of trivially copyable elements, or a sequence of views");
    return view_list(std::vector<const_buffer_view>(std::ranges::begin(buffer), std::ranges::end(buffer)));
  }
}

template <class Buffer>
[[nodiscard]] view_list views_to_write(Buffer&& buffer) {
  if constexpr (std::convertible_to<const std::remove_cvref_t<Buffer>&, buffer_view>) {
    const buffer_view view = buffer;
    return view_list(const_buffer_view(view));
  } else if constexpr (writable_buffer<Buffer>) {
    return view_list(const_buffer_view(writable_view_of(buffer)));
  } else {
    static_assert(mutable_buffer_sequence<Buffer>,
                  "a receive needs a writable view, a writable contiguous range, or a sequence of writable views");
    std::vector<const_buffer_view> views;
    views.reserve(static_cast<std::size_t>(std::ranges::distance(buffer)));
    for (const buffer_view view : buffer) views.push_back(view);
    return view_list(std::move(views));
  }
}

}  // namespace detail

/// One rank's place in a group: a handle, cheap to copy, usable from any thread. Operations are lazy: they start when
/// they are awaited or called with a completion token, and the order of starting is the order that their matching sees.
///
/// Completion: `void(boost::system::error_code, sent)`, `void(boost::system::error_code, received)`; awaiting throws
/// `weft::error`. A send completes when the engine holds its bytes (`inline`), the link has taken them (`host`), or
/// the device has taken them (`device`, `pair`); the buffer is free then. A receive completes when all bytes are in
/// place. So where a communicator is aborted or a rank is lost in between, a send may have succeeded whose receive ends
/// as `transfer_aborted`.
///
/// Cancellation, and the deadline of `within`, withdraw an operation from both ends as long as that is possible: until
/// the match on the `inline` and `host` routes, until the batch stands in the log on `device` and `pair`. The other end
/// of a match that was undone goes back to its old place in the queue: nothing is lost. Past that point an
/// operation on borrowed memory completes as if nothing had been asked. Where the engine owns the memory, the waiter
/// gets its error at once in any case, even from a peer that answers nothing, and the withdrawal or the transfer goes
/// on without it: whether a message that was sent arrives is unknown then. (A `total` cancellation, which must have no
/// effect where it fails, waits.)
/// Destroying a coroutine that waits is a cancellation too; borrowed memory must then outlive the transfer.
/// Lifetime: the memory of a buffer must stay until the operation completes. The engine owns it where a container is
/// moved in, for a `device_buffer`, and for objects.
class communicator {
 public:
  /// Belongs to no group: it may be assigned to and compared with false, and nothing else.
  communicator() = default;
  /// Called by `engine::join`.
  explicit communicator(detail::place place) : place_(std::move(place)) {}

  /// Whether this rank belongs to the group: not so after a split in which it chose no color.
  explicit operator bool() const noexcept { return place_.group != nullptr; }

  /// This process's number in the group, from 0.
  [[nodiscard]] int rank() const noexcept { return place_.group->rank; }
  /// How many ranks the group has.
  [[nodiscard]] int size() const noexcept { return place_.group->size(); }

  /// One message from a contiguous range, a view, or a sequence of views (gathered).
  template <class Buffer>
  [[nodiscard]] send_operation send(Buffer&& buffer, destination where) const {
    if constexpr (detail::is_owned_argument<Buffer> && contiguous_buffer<std::remove_cvref_t<Buffer>>) {
      auto owner = std::make_shared<detail::owned_container<std::remove_cvref_t<Buffer>>>(std::forward<Buffer>(buffer));
      auto views = detail::views_to_read(owner->value);
      return send_operation(detail::send_source(place_, std::move(views), where, std::move(owner)));
    } else if constexpr (std::same_as<std::remove_cvref_t<Buffer>, weft::device_buffer>) {
      return send_operation(detail::send_source(place_, detail::views_to_read(buffer), where, buffer.block()));
    } else {
      return send_operation(detail::send_source(place_, detail::views_to_read(buffer), where));
    }
  }

  /// One message into a writable contiguous range, a view, or a sequence of views (scattered), of exactly its size.
  template <class Buffer>
  [[nodiscard]] receive_operation recv(Buffer&& buffer, origin where) const {
    static_assert(!detail::is_owned_argument<Buffer> || !contiguous_buffer<std::remove_cvref_t<Buffer>>,
                  "a receive into a temporary container would be lost");
    if constexpr (std::same_as<std::remove_cvref_t<Buffer>, weft::device_buffer>)
      return receive_operation(detail::receive_source(place_, detail::views_to_write(buffer), where, buffer.block()));
    else
      return receive_operation(detail::receive_source(place_, detail::views_to_write(buffer), where));
  }

  /// Sends and receives submitted together. Completes with the code of the first that failed, once all have ended;
  /// with `as_tuple` the result has every operation's own.
  [[nodiscard]] batch_operation batch(const weft::batch& operations) const {
    return batch_operation(detail::batch_source(place_, operations.items_));
  }

  /// Has the pair communicators of this rank and `peers` made and connected in both directions, so that the first
  /// transfer by the route `pair` need not wait for that: creating one with NCCL takes a large part of a second. The
  /// other ends do nothing for it. Whatever is there already is kept. Completion:
  /// `void(boost::system::error_code, reserved)`, once all are there, or have failed: with `set_up_failed` also where
  /// `engine_options::pair_budget` has no room for one (transfers with that rank take the group's communicator), with
  /// `invalid_option` for this rank itself. Cancellation ends the wait, not the making. Like any pair it may give
  /// way to others once it has been idle for long.
  /// @{
  [[nodiscard]] reserve_operation reserve(std::vector<int> peers) const {
    return reserve_operation(detail::reserve_source(place_, std::move(peers)));
  }
  template <std::same_as<int>... Ranks>
  [[nodiscard]] reserve_operation reserve(Ranks... peers) const {
    return reserve(std::vector<int>{peers...});
  }
  /// @}

  /// Forms groups out of this one, as every member of it must ask for: those of one color are together, numbered by
  /// key, and where keys are equal by their rank here. A negative color (`no_color`) is in no group: the communicator
  /// that results is false. The new group has tags and wildcards of its own and shares this one's engine and log; it
  /// may be split again, and all are in use at once. Any number of splits may be under way: the n-th of each member
  /// belong together. Completion: `void(boost::system::error_code, split_communicator)`, which is a communicator; fails
  /// at all members as `peer_lost` or `peer_left` once one of them is gone, and as `sequencer_lost` without rank 0 of
  /// the engine. A cancelled member stays in its new group, which the others use without it.
  template <class Source = detail::split_source>  // whose result derives from this class, incomplete here
  [[nodiscard]] coro::async_operation<Source> split(int color, int key = 0) const {
    return coro::async_operation<Source>(Source(place_, color, key));
  }

  /// Lends this rank's device to the application, for NCCL calls of its own: NCCL takes one caller for each device, and
  /// kernels of several communicators must be launched in one order on all ranks. Every member of the group has to ask,
  /// as for a split; the n-th leases of each belong together and have one place in the order of all `device` and `pair`
  /// transfers. Completion: `void(boost::system::error_code, launch_lease)`, at each member once weft has nothing more
  /// under way on its device. From then on transfers by `device` and `pair`, `reserve`, and other leases of this rank
  /// wait until the lease is released: whoever holds one must not wait for them, nor for `close`. `inlined` and `host`
  /// go on. The application awaits the end of its kernels before it releases, and does that soon: at members that have
  /// released, deadlines of set-ups and batches run.
  ///
  /// Fails as `peer_lost` or `peer_left` once a member is gone, and as `sequencer_lost` without rank 0 of the engine; a
  /// lease that is held stays. Cancellation takes the wish back unless all members have asked: then it is too late, and
  /// the lease is granted. A waiter that is destroyed then releases at once. On the host device it is the same.
  [[nodiscard]] lease_operation launch_lease() const { return lease_operation(detail::lease_source(place_)); }

  /// The same for a thread that is no coroutine, which it blocks: not for one that the engine's executor needs. Throws
  /// `weft::error`.
  [[nodiscard]] weft::launch_lease wait_for_launch_lease() const { return coro::sync_wait(launch_lease()); }

  /// Memory of this rank's device, of that many bytes and for elements of that type. Throws std::bad_alloc.
  [[nodiscard]] weft::device_buffer device_buffer(std::size_t bytes, element_type element = element_type::bytes) const {
    return weft::device_buffer(detail::allocate(*place_.core, bytes, element));
  }

  /// What carries the device and pair routes of all ranks: "host" or "cuda".
  [[nodiscard]] std::string_view device_name() const { return detail::device_name(*place_.core); }

  /// Counts since this rank joined.
  [[nodiscard]] communicator_stats stats() const { return detail::stats(*place_.core); }

  /// For composed operations, such as `send_objects`.
  [[nodiscard]] const detail::place& place() const noexcept { return place_; }

 private:
  detail::place place_;
};

/// What a split completes with.
class split_communicator : public communicator {
 public:
  static constexpr bool raises = true;  ///< a failed `co_await` calls `raise`
  operation_details details;            ///< of the operation, also of one that failed

  /// Belongs to no group.
  split_communicator() = default;
  /// Called where the split completes.
  split_communicator(detail::place place, operation_details ended)
      : communicator(std::move(place)), details(std::move(ended)) {}

  /// Throws the `weft::error` of a failed split.
  [[noreturn]] void raise(boost::system::error_code code) const { throw error(code, details); }
};

namespace detail {

class split_source : public operation_source_base {
 public:
  using result_type = split_communicator;

  split_source(detail::place parent, int color, int key)
      : operation_source_base(std::move(parent)), color_(color), key_(key) {}

  void start(waiter& who) { start_split(*place_.core, who, *place_.group, color_, key_); }
  void cancel(waiter& who, boost::asio::cancellation_type) noexcept { cancel_split(*place_.core, who); }
  void abandon(waiter& who) noexcept { abandon_split(*place_.core, who); }
  [[nodiscard]] result_type finish(boost::system::error_code&, outcome&& ended) const {
    if (ended.group == nullptr) return {{}, std::move(ended.details)};
    return {{place_.core, ended.group}, std::move(ended.details)};
  }

 private:
  int color_;
  int key_;
};

}  // namespace detail

template <class Buffer>
batch& batch::send(const Buffer& buffer, destination where) {
  items_.push_back(
      {.operation = operation_kind::send, .views = detail::views_to_read(buffer), .to = where, .from = {}});
  return *this;
}

template <class Buffer>
batch& batch::recv(Buffer&& buffer, origin where) {
  items_.push_back(
      {.operation = operation_kind::receive, .views = detail::views_to_write(buffer), .to = {}, .from = where});
  return *this;
}

}  // namespace weft
