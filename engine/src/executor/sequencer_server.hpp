// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "executor/sequencer_desk.hpp"
#include "link/listening_point.hpp"
#include "link/message_link.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace weft::detail {

/// The sequencer of a group with its links, on rank 0 and on a thread of its own, so that nobody's handlers delay it.
class sequencer_server final : private link_owner, private desk_mail {
 public:
  /// `all_gone` is called, on the sequencer's thread, once every rank has left or was lost.
  sequencer_server(const listening_options& listening, int ranks, const protocol::sequencer_limits& limits,
                   std::function<void()> all_gone);
  ~sequencer_server();

  [[nodiscard]] std::string card() const { return listening_.card(); }
  /// Ranks with another incarnation than these are not admitted.
  void start(std::vector<std::uint64_t> incarnations);
  void stop();

 private:
  struct rank_state {
    std::shared_ptr<message_link> report;
    std::shared_ptr<message_link> log;
    std::vector<std::byte> backlog;  ///< entries from before the log's link
  };

  // link_owner
  void begin_turn() override {}
  void end_turn() override;
  bool on_message(message_link& link, std::uint8_t type, std::span<const std::byte> body) override;
  void on_link_closed(message_link& link, boost::system::error_code code) override;

  // desk_mail
  void send_to_log(int rank, log_message type, std::span<const std::byte> body) override;
  void send_to_engine(int rank, log_message type, std::span<const std::byte> body) override;

  [[nodiscard]] verdict admit(const hello& from) const;
  void accept(const hello& from, stream_socket socket);
  /// Tells once that all others are gone.
  void look_around();

  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{context_.get_executor()};
  listening_point listening_;
  std::function<void()> all_gone_;
  std::vector<std::uint64_t> incarnations_;
  std::vector<rank_state> ranks_;
  sequencer_desk desk_;
  bool has_told_ = false;
  std::thread thread_;
};

}  // namespace weft::detail
