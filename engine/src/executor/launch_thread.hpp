// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/choose_device.hpp"

#include "executor/launch_desk.hpp"
#include "executor/log_messages.hpp"
#include "executor/transfer_table.hpp"

#include "link/message_link.hpp"
#include "protocol/log_follower.hpp"

#include <weft/engine/error.hpp>
#include <weft/engine/peer.hpp>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace weft::detail {

/// What the launch thread tells the engine.
struct launch_news {
  enum class kind : std::uint8_t {
    transferred,  ///< `operation` has ended with `code`
    batch_issued,
    group_opened,  ///< the group's communicator; `text` for the log
    pair_opened,   ///< the communicator with `rank`; `text` for the log
    pair_gone,     ///< the communicator with `rank` was destroyed, or failed
    rank_gone,     ///< `rank`, for the reason `why`
    log_lost,
    leased,      ///< the device is lent to the wish of the name `operation`
    chore_done,  ///< that of the name `operation`, with `code`
    left,        ///< the sequencer has heard that this rank leaves, or does not answer
    problem,     ///< `text`, for the log
  };
  kind what = kind::problem;
  int rank = -1;
  errc why{};
  protocol::operation_id operation = 0;
  boost::system::error_code code{};
  std::string text{};
};

class launch_events {
 public:
  /// There is news where there was none. From the launch thread.
  virtual void on_launch_news() = 0;

 protected:
  ~launch_events() = default;
};

/// Reads the log on a link of its own, so that no user's handler delays it, and carries out its entries strictly in
/// order on the device. Runs no user code.
class launch_thread final : private link_owner, private device_events {
 public:
  /// `launch_timeout`: for a batch from its launch to its end; no more than that, its communicator is aborted.
  launch_thread(const device_factory& make_device, std::chrono::milliseconds set_up_timeout,
                std::chrono::nanoseconds launch_timeout, transfer_table& transfers, launch_events& events);
  ~launch_thread();

  /// For the rank's card.
  [[nodiscard]] std::string_view device_name() const noexcept { return device_->name(); }
  [[nodiscard]] std::string device_card() const { return device_->card(); }
  [[nodiscard]] std::int16_t device_ordinal() const noexcept { return device_->ordinal(); }
  [[nodiscard]] std::size_t pair_bytes() const noexcept { return device_->pair_bytes(); }
  [[nodiscard]] std::shared_ptr<device_memory> memory() const { return device_->memory(); }
  [[nodiscard]] std::shared_ptr<device_chores> chores() const { return device_->chores(); }
  /// There is a new one.
  void look_at_chores();
  /// Where a device that was `leased` is given back.
  [[nodiscard]] std::shared_ptr<lease_desk> desk() const { return desk_; }

  /// Starts to follow the log that comes over `log`, a socket of any executor.
  void start(stream_socket log, std::vector<std::string> device_cards, int self, std::uint64_t incarnation);
  /// Tells the sequencer that this rank leaves. Once it has heard it, within a second, there is news of it.
  void leave();
  /// Ends the thread.
  void stop();

  /// News since the last call, in order. From any thread.
  [[nodiscard]] std::vector<launch_news> take_news();

 private:
  // link_owner: the log
  void begin_turn() override {}
  void end_turn() override { flush(); }
  bool on_message(message_link& link, std::uint8_t type, std::span<const std::byte> body) override;
  void on_link_closed(message_link& link, boost::system::error_code code) override;

  // device_events
  void on_chore_done(std::uint64_t name, boost::system::error_code code) override;
  void on_set_up(boost::system::error_code code) override;
  void on_lent() override;
  void on_group_done(communicator_id communicator, group_id group,
                     std::span<const boost::system::error_code> codes) override;
  void on_communicator_failed(communicator_id communicator, boost::system::error_code code, std::string why) override;

  using clock = std::chrono::steady_clock;

  /// What is under way on the device.
  struct launched_batch {
    communicator_id communicator = 0;
    clock::time_point deadline = clock::time_point::max();
    std::vector<protocol::operation_id> operations;
  };

  void run();
  /// Carries out what the log lets it.
  void advance();
  void create(communicator_id communicator, const protocol::create& what);
  void begin_set_up();
  void lend(const protocol::lease& what);
  void end_lease();
  void issue(communicator_id communicator, group_id number, const protocol::batch& what);
  void add_transfer(communicator_id communicator, group_id number, const protocol::transfer& one, bool sending);
  void watch_launch(launched_batch& launched);
  void await_launch_deadline();
  void abort_late_launches();
  void report_opened(communicator_id communicator, const protocol::create& what);
  void report_gone(communicator_id communicator);
  void report_failures();
  void report_finished(std::uint64_t entry);
  void tell_end(communicator_id communicator, protocol::operation_id id, boost::system::error_code code);
  void release_ends(communicator_id communicator);
  [[nodiscard]] bool follow(protocol::log_entry entry);
  void rank_gone(int rank, bool left);
  void leave_if_idle();
  void left();
  void flush();
  void tell(launch_news news);

  std::chrono::milliseconds set_up_timeout_;
  std::chrono::nanoseconds launch_timeout_;
  transfer_table& transfers_;
  launch_events& events_;
  int self_ = -1;
  int ranks_ = 0;

  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{context_.get_executor()};
  std::unique_ptr<device> device_;
  std::shared_ptr<launch_desk> desk_;
  std::shared_ptr<message_link> log_;
  boost::asio::steady_timer set_up_deadline_{context_};
  boost::asio::steady_timer launch_deadline_{context_};
  boost::asio::steady_timer leave_deadline_{context_};

  bool leaving_ = false;
  bool log_ended_ = false;
  std::optional<protocol::log_follower> follower_;
  std::uint64_t lent_to_ = 0;  ///< the last wish
  std::map<communicator_id, unique_id> unique_ids_;
  std::map<communicator_id, int> open_pairs_;  ///< with which rank
  std::vector<device_transfer> group_;         ///< being put together
  std::map<group_id, launched_batch> launched_;
  std::set<communicator_id> known_failed_;  ///< to all ranks
  std::map<communicator_id, std::vector<launch_news>> held_ends_;
  bool watching_ = false;  ///< the launch deadline is awaited

  std::mutex news_mutex_;
  std::vector<launch_news> news_;

  std::thread thread_;
};

}  // namespace weft::detail
