// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/device_memory.hpp"
#include "memory_cursor.hpp"

#include <weft/engine/buffer.hpp>
#include <weft/engine/device_work.hpp>

#include <boost/system/error_code.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// What the executor needs of a device. All calls come from the launch thread; none blocks for long, and the answers
/// come back through `device_events` on the same thread, never from inside of the call that asked (`poll` asks for
/// them).
namespace weft::detail {

using communicator_id = std::uint32_t;

/// Made by one rank and shown by the others to take part in the same communicator (NCCL's unique id has this size).
using unique_id = std::array<std::byte, 128>;

/// One rank's part of one operation in a batch.
struct device_transfer {
  int peer = -1;
  bool sending = false;
  std::uint64_t bytes = 0;
  message_memory memory;  ///< its pieces stay until the group is done
};

/// Names a group on a communicator: the number of its entry in the log.
using group_id = std::uint64_t;

/// What a device does for operations beside their transfers, by names that its caller gives. From any thread;
/// `device::poll` goes on with it, and `device_events::on_chore_done` says when one is over.
class device_chores {
 public:
  virtual ~device_chores() = default;
  /// Looks for the end of work that was given to the device.
  [[nodiscard]] virtual boost::system::error_code watch(std::uint64_t name, const device_work& work) = 0;
  /// Copies a message between memory of the device and ordinary memory of the host.
  virtual void copy(std::uint64_t name, bool to_host, std::vector<memory_piece> device,
                    std::vector<memory_piece> host) = 0;
  /// Ends one early, of which nothing more is heard. True: memory of the caller's is being touched still, until
  /// `on_chore_done` comes for `last_name`.
  [[nodiscard]] virtual bool forget(std::uint64_t name, std::uint64_t last_name) = 0;
  /// Waits, for a second at most, until no memory is touched. Nobody polls any more.
  virtual void come_to_rest() noexcept = 0;
};

class device_events {
 public:
  virtual void on_chore_done(std::uint64_t name, boost::system::error_code code) = 0;
  /// The last `create`, `connect` or `destroy` has ended.
  virtual void on_set_up(boost::system::error_code code) = 0;
  /// The device is lent: nothing of it is under way, and it makes no calls that others could get in the way of.
  virtual void on_lent() = 0;
  /// A group is done as a whole; `codes` has one per transfer, in the order in which they were issued.
  virtual void on_group_done(communicator_id communicator, group_id group,
                             std::span<const boost::system::error_code> codes) = 0;
  /// A communicator is of no use any more. What is under way on it ends by itself.
  virtual void on_communicator_failed(communicator_id communicator, boost::system::error_code code,
                                      std::string why) = 0;

 protected:
  ~device_events() = default;
};

class device {
 public:
  virtual ~device() = default;

  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  /// In views of its memory.
  [[nodiscard]] virtual std::int16_t ordinal() const noexcept { return host_device_ordinal; }
  /// Memory of its own that a pair communicator takes, as far as is known.
  [[nodiscard]] virtual std::size_t pair_bytes() const noexcept { return 0; }
  /// Where its memory comes from. From any thread.
  [[nodiscard]] virtual std::shared_ptr<device_memory> memory() const = 0;
  /// Null where the host reaches the device's memory, and there are no streams to wait for.
  [[nodiscard]] virtual std::shared_ptr<device_chores> chores() const { return nullptr; }
  /// What the devices of the other ranks need to know of this one; goes into the rank's card.
  [[nodiscard]] virtual std::string card() const = 0;
  /// What the other ranks' devices say of themselves, by rank. Called once, before all that follows, from any thread.
  virtual void set_peers(std::vector<std::string> cards, int self, std::uint64_t incarnation) = 0;

  /// The launch thread begins.
  virtual void enter_thread() {}
  /// Something is under way whose end only `poll` finds.
  [[nodiscard]] virtual bool needs_polling() const noexcept { return false; }
  /// Looks for what has ended, reports it, and goes on with what waits. Whether anything has changed. Called again and
  /// again as long as that is needed, and before a group is taken for late.
  virtual bool poll() { return false; }

  [[nodiscard]] virtual unique_id make_unique_id() = 0;
  /// Creates this rank's end of a communicator with the members given, in order of rank. One set-up at a time.
  virtual void create(communicator_id communicator, std::span<const int> members, const unique_id& id) = 0;
  /// Connects one direction of two ranks, one of which is this one, before its first use.
  virtual void connect(communicator_id communicator, int source, int destination) = 0;
  /// Destroys this rank's end of a communicator, on which nothing is unfinished.
  virtual void destroy(communicator_id communicator) = 0;
  /// Gives up the set-up under way: it ends with `code`.
  virtual void abort_set_up(boost::system::error_code code) = 0;

  /// Lends the device to others, once it is at rest; no group is unfinished and no set-up under way. Until `take_back`
  /// there are none, and aborts wait.
  virtual void lend() = 0;
  virtual void take_back() {}

  /// Issues one group. Groups of a communicator are done in the order of their issue.
  virtual void issue(communicator_id communicator, group_id group, std::span<const device_transfer> transfers) = 0;

  /// This end takes no part in a transfer that the other end was told of: that direction ends, there too.
  virtual void refuse(communicator_id communicator, int peer, bool sending) = 0;

  /// Ends what is under way on a communicator with `code`, its set-up included. It is not used again.
  virtual void abort(communicator_id communicator, boost::system::error_code code) = 0;
  /// A rank is gone: what involves it ends with `code`, now and later; everything else goes on.
  virtual void on_rank_gone(int rank, boost::system::error_code code) = 0;
  /// Ends all there is with `code`.
  virtual void abort_all(boost::system::error_code code) = 0;
};

}  // namespace weft::detail
