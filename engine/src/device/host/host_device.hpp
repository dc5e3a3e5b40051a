// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/device.hpp"
#include "device/host/host_channel.hpp"
#include "link/listening_point.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weft::detail {

struct host_options {
  bool shared_memory = true;  ///< between ranks of one host
  std::chrono::milliseconds set_up_timeout{};
  std::function<void(std::string)> note;  ///< told why a channel does without
};

/// A device for machines without a GPU: communicators whose channels are streams between the launch threads of two
/// ranks. It keeps the order and the boundaries that a GPU's communicators need, and really moves bytes.
class host_device final : public device, private channel_events {
 public:
  /// `context` is the launch thread's. Listens from now on; `points` of all ranks come with `set_peers`.
  host_device(boost::asio::io_context& context, device_events& events, const listening_options& listening,
              host_options how);
  ~host_device() override;

  [[nodiscard]] std::string card() const override { return listening_.card(); }
  void set_peers(std::vector<std::string> cards, int self, std::uint64_t incarnation) override;

  [[nodiscard]] std::string_view name() const noexcept override { return "host"; }
  [[nodiscard]] std::shared_ptr<device_memory> memory() const override;
  [[nodiscard]] bool needs_polling() const noexcept override { return !watched_.empty(); }
  bool poll() override;
  [[nodiscard]] unique_id make_unique_id() override;
  void create(communicator_id communicator, std::span<const int> members, const unique_id& id) override;
  void connect(communicator_id communicator, int source, int destination) override;
  void destroy(communicator_id communicator) override;
  void abort_set_up(boost::system::error_code code) override;
  void lend() override;
  void issue(communicator_id communicator, group_id group, std::span<const device_transfer> transfers) override;
  void refuse(communicator_id communicator, int peer, bool sending) override;
  void abort(communicator_id communicator, boost::system::error_code code) override;
  void on_rank_gone(int rank, boost::system::error_code code) override;
  void abort_all(boost::system::error_code code) override;

 private:
  struct group_state {
    group_id id = 0;
    std::size_t remaining = 0;
    std::vector<boost::system::error_code> codes;
  };
  struct communicator_state {
    std::uint64_t key = 0;
    std::map<std::pair<int, bool>, std::shared_ptr<host_channel>> channels;  ///< by peer and whether we send
    std::deque<group_state> groups;
  };
  struct set_up {
    communicator_id communicator = 0;
    int peer = -1;
    bool sending = false;
  };

  void on_transfer_done(communicator_id communicator, group_id group, std::size_t index,
                        boost::system::error_code code) override;
  void on_ring_wait(host_channel& channel) override;
  [[nodiscard]] bool look_at_channels();
  [[nodiscard]] host_channel& channel(communicator_id communicator, int peer, bool sending);
  void copy_to_self(group_state& group, std::span<const device_transfer> transfers);
  void forget_early(std::uint64_t key);
  bool report_groups();
  void report_groups_later();
  void finish_set_up(boost::system::error_code code);
  boost::asio::awaitable<void> connect_to(set_up wanted, std::uint64_t number);
  boost::asio::awaitable<void> take_connection(int from, std::uint64_t key, stream_socket socket);
  boost::asio::awaitable<shared_connection> share_memory(stream_socket socket, ring_exchange exchange);
  [[nodiscard]] bool use_arrived();
  [[nodiscard]] boost::system::error_code gone(int rank) const;

  boost::asio::io_context& context_;
  device_events& events_;
  host_options how_;
  listening_point listening_;
  int self_ = -1;
  std::uint64_t incarnation_ = 0;
  std::vector<std::string> cards_;
  std::map<int, boost::system::error_code> gone_;
  std::map<communicator_id, communicator_state> communicators_;
  /// Connections that came before their set-up, by rank and key; without a value while the two ends still agree on
  /// shared memory.
  using arrivals = std::map<std::pair<int, std::uint64_t>, std::optional<shared_connection>>;
  [[nodiscard]] arrivals::iterator arrival_of(const set_up& wanted);
  arrivals early_;
  std::optional<set_up> set_up_;
  std::uint64_t set_up_number_ = 0;
  bool report_posted_ = false;
  std::vector<std::shared_ptr<host_channel>> watched_;  ///< which wait for their rings, and do not sleep yet
  std::vector<std::shared_ptr<host_channel>> looked_at_;
  std::chrono::steady_clock::time_point last_news_{};
};

}  // namespace weft::detail
