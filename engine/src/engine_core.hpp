// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "deadline_queue.hpp"
#include "executor/launch_thread.hpp"
#include "executor/sequencer_server.hpp"
#include "executor/transfer_table.hpp"
#include "kept_payloads.hpp"
#include "link/listening_point.hpp"
#include "link/message_link.hpp"
#include "operation_records.hpp"
#include "peer_links.hpp"
#include "protocol/endpoint.hpp"
#include "ready_queue.hpp"
#include "wake_up.hpp"
#include "watch_patience.hpp"

#include <weft/engine/detail/core.hpp>
#include <weft/engine/device_buffer.hpp>
#include <weft/engine/options.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weft::detail {

/// The engine of one rank: turns what users, links and the launch thread say into events for the protocol's endpoint,
/// and carries out the actions that it answers with.
///
/// It is a monitor: whoever has an event takes the lock, lets the endpoint decide, and releases it; no thread hop is
/// needed, whichever thread starts an operation. No system call that blocks and no user code runs under the lock. What
/// user code is to be told waits in the ready queue, and is delivered by `run_ready` from the executor.
///
/// Shared, because handlers in the executor's queue may outlive the `engine` that a user destroyed.
class engine_core final : public link_owner, public launch_events, public std::enable_shared_from_this<engine_core> {
 public:
  engine_core(boost::asio::any_io_executor executor, engine_options options);
  ~engine_core();

  boost::asio::awaitable<void> join();
  boost::asio::awaitable<void> close();
  /// Breaks all links and ends all operations, without a goodbye.
  void stop();

  void start(std::span<operation_request> requests);
  void start_split(waiter& who, const group& parent, int color, int key);
  /// Its waiter goes; with `complete`, it is told that it was cancelled.
  void end_split_wait(waiter& who, bool complete) noexcept;
  void start_reserve(waiter& who, const group& within, std::span<const int> peers);
  void end_reserve_wait(waiter& who, bool complete) noexcept;
  void start_lease(waiter& who, const group& within);
  void end_lease_wait(waiter& who, bool complete) noexcept;
  [[nodiscard]] const group& root() const noexcept { return groups_.front(); }
  [[nodiscard]] std::shared_ptr<device_block> allocate(std::size_t bytes, element_type element);
  void cancel(waiter& who, boost::asio::cancellation_type kinds) noexcept;
  void abandon(waiter& who) noexcept;
  void complete_soon(waiter& who, boost::system::error_code code, operation_details details);

  // decisions about held messages: engine_held.cpp
  void resume(std::uint64_t held, operation_request& request);
  void refuse_held(std::uint64_t held, waiter* who, errc code, std::string reason);
  void discard_held(std::uint64_t held);
  void tell_sender(const group& within, const operation_details& received, const boost::system::error_code& code);

  [[nodiscard]] int rank() const noexcept { return options_.rank; }
  [[nodiscard]] int world_size() const noexcept { return options_.world_size; }
  [[nodiscard]] const boost::asio::any_io_executor& executor() const noexcept { return executor_; }
  [[nodiscard]] const engine_options& options() const noexcept { return options_; }
  void count_segments(std::uint64_t landed, std::uint64_t copied) noexcept;
  [[nodiscard]] communicator_stats stats();
  [[nodiscard]] std::string_view device_name() const noexcept { return launch_->device_name(); }
  [[nodiscard]] serializers::byte_buffer take_frame();
  void return_frame(serializers::byte_buffer frame) noexcept;

 private:
  enum class life : std::uint8_t { created, joined, closing, ended };

  // link_owner
  void begin_turn() override;
  void end_turn() override;
  bool on_message(message_link& link, std::uint8_t type, std::span<const std::byte> body) override;
  void on_raw_read(message_link& link, std::uint64_t job, std::uint64_t bytes) override;
  void on_streamed(message_link& link, std::uint64_t job) override;
  void on_link_closed(message_link& link, boost::system::error_code code) override;
  bool watches(message_link& link) override;

  // launch_events, from the launch thread
  void on_launch_news() override;

  // joining: engine_join.cpp
  [[nodiscard]] std::string make_card() const;
  void check_device(const std::string& name, int of) const;
  boost::asio::awaitable<void> meet();
  boost::asio::awaitable<void> enter(std::vector<std::string> cards);
  [[nodiscard]] hello hello_to(int rank, purpose why) const;
  [[nodiscard]] verdict admit(const hello& from);
  void accept_link(const hello& from, stream_socket socket);
  boost::asio::awaitable<void> accept_peer(int peer, stream_socket socket);
  boost::asio::awaitable<shared_connection> share_memory(stream_socket connected, ring_exchange exchange);
  void install_link(int rank, shared_connection made);
  void dial(int rank);
  boost::asio::awaitable<void> dial_peer(int rank);
  void await_other_attempt(int rank);
  template <class Condition>
  boost::asio::awaitable<void> until(Condition condition);
  void say_goodbye();
  void say_goodbye_to(int peer);
  void stop_threads();

  // the turn: engine_turn.cpp
  void schedule();
  void run_ready(std::unique_lock<std::mutex> lock);
  void deliver_one(std::unique_lock<std::mutex>& lock);
  void flush_links();
  void check_drained();
  void set_deadline(std::uint32_t slot, std::chrono::nanoseconds limit);
  void arm_deadline_timer();
  void take_launch_news();

  // links that are watched instead of sleeping: engine_watch.cpp
  void watch_links();
  void keep_watching();
  enum class sight : std::uint8_t { news, nothing, asleep };
  /// `silence`: how long there has been nothing.
  [[nodiscard]] sight look_at_links(std::chrono::nanoseconds silence);

  // groups: engine_groups.cpp
  void on_split_done(const protocol::split_answer& answer);
  void fail_splits(errc why);

  // pairs ahead of their use: engine_reservations.cpp
  bool on_reserved(std::span<const std::byte> body);
  void end_reservation(std::size_t index, boost::system::error_code code);
  void fail_reservations(errc why);

  // devices that are lent: engine_leases.cpp
  /// A part of a lease that this rank has asked for.
  struct lease_wish {
    waiter* who;  ///< null where nobody waits any more
    const detail::group* within;
    bool is_withdrawn = false;  ///< the sequencer was asked to forget it
  };
  bool on_lease_ended(std::span<const std::byte> body);
  void take_lease(std::uint64_t name, held_lease lease);
  void end_lease_wish(std::uint64_t name, boost::system::error_code code, int gone, held_lease lease = {});
  void withdraw_lease(std::uint64_t name, lease_wish& wish);
  void fail_leases(errc why);

  // what a device does beside transfers: engine_chores.cpp
  [[nodiscard]] errc prepare(protocol::operation_id id, const operation_request& request, operation_details& details);
  [[nodiscard]] errc await_work(protocol::operation_id id, const device_work& work, operation_details& details);
  void fetch(protocol::operation_id id);
  void deliver(operation_record& record, outcome result);
  void finish_later(operation_record& record, boost::system::error_code code, outcome result);
  void end_delivery(std::uint64_t name, boost::system::error_code code);
  void chore_done(std::uint64_t name, boost::system::error_code code);

  // held messages: engine_held.cpp
  void hold(protocol::action& next);
  template <class Decision>
  void decide(std::uint64_t held, waiter* who, Decision decision);

  // actions: engine_actions.cpp
  [[nodiscard]] bool on_refused(int peer, std::span<const std::byte> body);
  bool on_peer_message(int peer, message_link& link, std::uint8_t type, std::span<const std::byte> body);
  [[nodiscard]] errc translate(operation_request& request, operation_details& details) const;
  bool on_sequencer_message(std::uint8_t type, std::span<const std::byte> body);
  bool on_data(int peer, message_link& link, std::span<const std::byte> body);
  void begin(operation_request& request);
  void refuse(operation_request& request, errc why, operation_details details);
  [[nodiscard]] errc check_memory(const operation_request& request, operation_details& details) const;
  void perform();
  void perform(protocol::action& next);
  void transmit(const protocol::action& next);
  void complete(protocol::action& next);
  void end_early(protocol::operation_id id, errc why, bool may_leave);
  void report(log_message what, const protocol::match& found);
  void count(const protocol::action& ended);
  void keep_frame(serializers::byte_buffer frame) noexcept;
  void expect(operation_record& record, std::uint64_t bytes);
  void peer_gone(int peer, errc why);
  void log(log_level level, std::string text);

  /// An operation that is over but for a copy from or to the memory of a device.
  struct delivery {
    waiter* who = nullptr;
    boost::system::error_code code{};
    outcome result;
    serializers::byte_buffer frame;
    std::shared_ptr<owned_memory> owner;
  };
  /// Their names are no operation's: those begin with the number of a use of their slot, from 1 upwards.
  static constexpr std::uint64_t first_delivery = std::uint64_t{0xffff'ffff} << 32;
  [[nodiscard]] static constexpr bool is_delivery(std::uint64_t name) noexcept { return name >= first_delivery; }

  /// Pair communicators that somebody waits for.
  struct reservation {
    waiter* who;
    const detail::group* within;
    std::vector<int> open;  ///< ranks of the engine's group that no answer has come for
    boost::system::error_code code{};
    operation_details details;
  };

  /// An operation that ended before its user had decided about its message.
  struct end_of_held {
    boost::system::error_code code;
    outcome result;
  };

  boost::asio::any_io_executor executor_;
  engine_options options_;

  std::mutex mutex_;  // guards everything below
  life life_ = life::created;
  std::optional<protocol::endpoint> endpoint_;
  protocol::actions actions_;    ///< to be performed
  protocol::actions performed_;  ///< those that are being performed, or have been
  bool performing_ = false;
  std::span<const std::byte> arriving_payload_;          ///< of the announcement being read
  std::deque<group> groups_;                             ///< the one that was joined, and those that were split off
  std::map<std::uint64_t, std::deque<waiter*>> splits_;  ///< under way, by parent; null where nobody waits any more
  std::vector<reservation> reservations_;
  std::map<std::uint64_t, lease_wish> lease_wishes_;  ///< that the sequencer has not answered, by name
  std::uint64_t next_lease_wish_ = 1;
  operation_records records_;
  kept_payloads kept_;
  deadline_queue<std::chrono::steady_clock::time_point> deadlines_;
  boost::asio::steady_timer deadline_timer_;
  std::chrono::steady_clock::time_point armed_for_ = std::chrono::steady_clock::time_point::max();
  ready_queue ready_;
  bool run_posted_ = false;
  std::vector<serializers::byte_buffer> frames_;
  std::shared_ptr<device_memory> device_memory_;
  std::shared_ptr<device_chores> chores_;         ///< null where the device has none
  std::map<std::uint64_t, delivery> deliveries_;  ///< by the names of their chores
  std::uint64_t next_delivery_ = first_delivery;
  std::map<protocol::operation_id, end_of_held> held_ends_;
  communicator_stats stats_;

  std::optional<listening_point> listening_;
  std::vector<std::string> link_cards_;
  std::vector<std::uint64_t> incarnations_;
  std::uint64_t incarnation_;
  peer_links links_;
  std::map<int, std::unique_ptr<boost::asio::steady_timer>> patience_;  ///< with the other end's attempt, by rank
  std::vector<std::optional<errc>> noticed_gone_;  ///< by the sequencer's word, where the link says it otherwise
  std::shared_ptr<message_link> report_link_;      ///< to the sequencer
  bool report_dirty_ = false;

  std::vector<std::shared_ptr<message_link>> watched_;  ///< over shared memory, awake
  bool watching_ = false;                               ///< by some thread, or about to be
  watch_patience attention_;
  std::chrono::steady_clock::time_point last_news_;  ///< of whoever watches
  std::chrono::steady_clock::time_point asleep_since_;

  transfer_table transfers_;
  std::optional<launch_thread> launch_;
  std::int16_t device_ordinal_ = host_device_ordinal;
  std::optional<sequencer_server> sequencer_;  ///< on rank 0
  /// From a rank that entered before this one.
  struct early_link {
    int peer;
    shared_connection made;
  };
  std::vector<early_link> early_links_;
  bool log_left_ = false;     ///< the launch thread has nothing more to say
  bool others_gone_ = false;  ///< on rank 0: nobody needs the sequencer any more
  wake_up changed_;           ///< for close, which waits for what is under way
  boost::asio::steady_timer goodbye_timer_;
  bool goodbyes_said_ = false;
  bool goodbye_is_late_ = false;
};

}  // namespace weft::detail
