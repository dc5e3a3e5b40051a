// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/coro/completion.hpp>
#include <weft/engine/buffer.hpp>
#include <weft/engine/error.hpp>
#include <weft/engine/operation_details.hpp>
#include <weft/engine/peer.hpp>
#include <weft/engine/stats.hpp>
#include <weft/serializers/byte_buffer.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/cancellation_type.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft {
struct engine_options;
}

/// The seam between the templates of the public face and the engine, which is compiled once.
namespace weft::detail {

class engine_core;
struct device_block;

/// A group of ranks as one of its members sees it. Lives as long as the engine.
struct group {
  /// `members` are ranks of the group that the engine joined, and `self` is one of them.
  group(std::uint64_t number, int self, std::vector<int> members);

  std::uint64_t number;
  std::vector<int> members;                 ///< by their rank in this one
  std::vector<std::pair<int, int>> places;  ///< each member, and its rank in this one; in order
  int rank = -1;                            ///< this rank's number in it

  [[nodiscard]] int size() const noexcept { return static_cast<int>(members.size()); }
  [[nodiscard]] bool has(int which) const noexcept { return which >= 0 && which < size(); }
  /// The rank in this group of a rank of the engine's; -1 where it is none.
  [[nodiscard]] int rank_of(int world_rank) const noexcept;
};

/// One rank's place in a group: what a communicator is a handle to. Without a core once it was moved from.
struct place {
  std::shared_ptr<engine_core> core;
  const detail::group* group = nullptr;
};

/// Keeps a buffer alive that the engine was given to own.
struct owned_memory {
  virtual ~owned_memory() = default;
};

/// Where a device that was lent is given back.
class lease_desk {
 public:
  virtual ~lease_desk() = default;
  /// Once for each lease. From any thread, also within the engine's lock.
  virtual void give_back() noexcept = 0;
};

/// A device that was lent, until it is given back or this goes away.
class held_lease {
 public:
  held_lease() = default;
  explicit held_lease(std::shared_ptr<lease_desk> from) : desk_(std::move(from)) {}
  held_lease(held_lease&&) noexcept = default;
  held_lease& operator=(held_lease&& other) noexcept {
    held_lease before(std::move(*this));
    desk_ = std::move(other.desk_);
    return *this;
  }
  ~held_lease() { give_back(); }

  [[nodiscard]] bool is_held() const noexcept { return desk_ != nullptr; }
  void give_back() noexcept {
    if (const auto desk = std::exchange(desk_, nullptr)) desk->give_back();
  }

 private:
  std::shared_ptr<lease_desk> desk_;
};

/// What the engine completes an operation with.
struct outcome {
  operation_details details;
  serializers::byte_buffer frame{};      ///< of a receive of objects, or its head
  const detail::group* group = nullptr;  ///< of a split: the new one, if any
  std::uint64_t held = 0;                ///< a receive that goes on once it is decided about: see `resume`
  held_lease lease{};                    ///< of a lease
};

using waiter = coro::waiter<outcome>;

/// One operation as the caller describes it.
struct operation_request {
  operation_kind operation = operation_kind::none;
  const detail::group* group = nullptr;  ///< whose ranks the next two name
  destination to;                        ///< of a send
  origin from;                           ///< of a receive
  payload_kind kind = payload_kind::buffer;
  std::uint64_t fingerprint = 0;
  std::span<const const_buffer_view> pieces;  ///< read only during the call that starts; a receive writes to them
  serializers::byte_buffer frame;             ///< objects to send; pieces are what travels behind it
  std::uint64_t head = 0;                     ///< of objects that come in two parts: the size of their frame
  bool borrows = false;                       ///< objects: the pieces are memory of the caller's
  bool examines = false;                      ///< a receive that is held as soon as it is matched
  std::shared_ptr<owned_memory> owner;        ///< kept until the operation is over
  detail::waiter* waiter = nullptr;

  void set(const destination& address) noexcept {
    operation = operation_kind::send;
    to = address;
  }
  void set(const origin& address) noexcept {
    operation = operation_kind::receive;
    from = address;
  }
};

/// Says which objects an operation had that failed with `object_type_mismatch`.
void name_types(operation_details& details, std::string_view types);

/// Throws `errc::already_started`.
[[noreturn]] void refuse_start();

// From any thread. A start never completes its waiter before it returns.

/// Starts all, in order, before any other operation can come in between.
void start(engine_core& core, std::span<operation_request> requests);

// A receive that completed with `outcome::held` has a message, or the head of one of objects (in `outcome::frame`),
// and waits to be decided about, once. `who` waits for its end; where it has ended meanwhile, it is told so.

/// It is received into the pieces of the request, or as objects where it has none, which may be held once more.
void resume(engine_core& core, std::uint64_t held, operation_request request);
/// It fails at both ends, for that reason. Nobody need wait.
void refuse(engine_core& core, std::uint64_t held, waiter* who, errc code, std::string reason);
/// It counts as received at the other end. Nobody waits.
void discard(engine_core& core, std::uint64_t held);
/// Asks for an early end. The waiter is still completed once. `total` alone asks for an end without any effect; partial
/// and terminal also let the waiter of an owned buffer leave before a transfer that cannot be taken back.
void cancel(engine_core& core, waiter& who, boost::asio::cancellation_type kinds) noexcept;
/// The waiter goes away; the operation is carried out or withdrawn without it.
void abandon(engine_core& core, waiter& who) noexcept;
/// Completes a waiter for which nothing was started, after this call has returned.
void complete_soon(engine_core& core, waiter& who, boost::system::error_code code, operation_details details);

/// Takes part in the next split of a group, which goes on where its waiter was cancelled or went away.
void start_split(engine_core& core, waiter& who, const group& parent, int color, int key);
void cancel_split(engine_core& core, waiter& who) noexcept;
void abandon_split(engine_core& core, waiter& who) noexcept;

/// Has the pair communicators with ranks of a group made and connected, which goes on where its waiter went away.
void start_reserve(engine_core& core, waiter& who, const group& within, std::span<const int> peers);
void cancel_reserve(engine_core& core, waiter& who) noexcept;
void abandon_reserve(engine_core& core, waiter& who) noexcept;

[[nodiscard]] const engine_options& options_of(const engine_core& core) noexcept;
/// Bytes of segments that came directly into objects, and those that were copied there.
void count_segments(engine_core& core, std::uint64_t landed, std::uint64_t copied) noexcept;

/// Asks for the devices of a group, which all of its members have to do.
void start_lease(engine_core& core, waiter& who, const group& within);
void cancel_lease(engine_core& core, waiter& who) noexcept;
void abandon_lease(engine_core& core, waiter& who) noexcept;

[[nodiscard]] communicator_stats stats(engine_core& core);
/// Text that stays as long as the process.
[[nodiscard]] std::string_view device_name(const engine_core& core) noexcept;
[[nodiscard]] const boost::asio::any_io_executor& executor(const engine_core& core) noexcept;

/// Memory of this rank's device. Throws std::bad_alloc.
[[nodiscard]] std::shared_ptr<device_block> allocate(engine_core& core, std::size_t bytes, element_type element);

/// An empty buffer, with capacity from earlier frames where there is one; and its way back.
[[nodiscard]] serializers::byte_buffer take_frame(engine_core& core);
void return_frame(engine_core& core, serializers::byte_buffer frame) noexcept;

}  // namespace weft::detail
