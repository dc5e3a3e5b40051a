// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "program.hpp"
#include "protocol/endpoint.hpp"
#include "reference_matcher.hpp"
#include "virtual_launch_thread.hpp"
#include "world.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

namespace weft::simulation {

struct packet {
  protocol::message_type type = protocol::message_type::announce;
  std::vector<std::byte> body;  ///< the fixed part
  buffer::contents content;     ///< the bytes behind it
};

/// An endpoint and what an engine does for it, with a reference beside it that checks what it decides.
class virtual_rank {
 public:
  struct connections {
    std::function<void(int peer, packet)> send;
    std::function<void(const protocol::match&)> report_match;
    std::function<void(const protocol::match&)> ask_back;
    std::function<void(const planned_operation&, boost::system::error_code)> ended;
    /// The number in the program of what a rank calls so.
    std::function<int(int rank, protocol::operation_id)> number_of;
  };

  virtual_rank(world& all, const program& what, std::vector<buffer>& buffers, virtual_launch_thread& launch,
               const setting& how, int rank, connections to);

  void add_group(protocol::group_number group, std::vector<int> members) {
    endpoint_.add_group(group, std::move(members));
  }

  // What the user does.
  void start(const planned_operation& what, protocol::group_number group);
  void cancel(const planned_operation& what, errc why);
  void make_ready(const planned_operation& what);

  /// This rank is lost: it does nothing any more.
  void stop() { is_stopped_ = true; }

  // What comes from elsewhere.
  /// The link from that rank has ended, after all that it had sent.
  void peer_lost(int peer);
  void deliver(int peer, const packet& arrived);
  void answer_withdrawal(protocol::operation_id receive, bool granted);
  void transferred(protocol::operation_id id, boost::system::error_code code);

  [[nodiscard]] int number_of(protocol::operation_id id) const { return numbers_.at(id); }
  [[nodiscard]] const protocol::endpoint& endpoint() const noexcept { return endpoint_; }
  [[nodiscard]] const reference_matcher& reference() const noexcept { return reference_; }
  [[nodiscard]] std::size_t kept_payloads() const noexcept { return kept_.size(); }
  /// Whether the message of a send to this rank has been received, or its receive left with the first part of it.
  [[nodiscard]] bool has_delivered(int send) const { return delivered_.contains(send); }
  /// Sends to this rank that have met a receive of another size.
  [[nodiscard]] bool has_mismatched(int send) const { return mismatched_.contains(send); }

 private:
  struct stream_job {
    int peer = -1;
    protocol::operation_id send = 0;
    protocol::operation_id receive = 0;
    std::size_t sent = 0;
    std::size_t end = 0;
  };
  struct end_of_operation {
    int number;
    boost::system::error_code code;
    bool is_excused;  ///< by what has happened to ranks or devices
  };

  template <class Call>
  void event(Call call);
  template <class Body>
  void pass(bool (protocol::endpoint::*handler)(int, const Body&, protocol::actions&), int peer, const packet& arrived);
  void deliver_announce(int peer, const packet& arrived);
  void deliver_data(int peer, const packet& arrived);
  void perform(const protocol::action& next);
  void transmit(const protocol::action& next);
  void complete(const protocol::action& next);
  [[nodiscard]] bool has_taken_head(protocol::operation_id id) const;
  [[nodiscard]] bool is_excused(const planned_operation& what, boost::system::error_code code) const;
  [[nodiscard]] bool needs(int peer, const planned_operation& what) const;
  void settle();
  void check_end(const end_of_operation& ended);
  void check_received(const planned_operation& receive, int send);
  void pump(stream_job job);
  void write(protocol::operation_id id, const buffer::contents& content, std::size_t offset = 0);
  void decide_later(protocol::operation_id id);

  [[nodiscard]] const planned_operation& planned(int number) const {
    return program_.operations[static_cast<std::size_t>(number)];
  }
  [[nodiscard]] buffer& memory_of(protocol::operation_id id) {
    return buffers_[static_cast<std::size_t>(numbers_.at(id))];
  }
  [[nodiscard]] const buffer::contents& arriving() const;
  [[nodiscard]] buffer::contents take_kept(std::uint32_t message);

  world& world_;
  const program& program_;
  std::vector<buffer>& buffers_;
  virtual_launch_thread& launch_;
  int rank_;
  bool groups_are_aborted_;
  bool is_stopped_ = false;
  connections to_;
  protocol::endpoint endpoint_;
  protocol::actions actions_;
  reference_matcher reference_;

  std::unordered_map<protocol::operation_id, int> numbers_;  ///< in the program, of all that were ever started
  std::map<int, protocol::operation_id> names_;              ///< of those that are not over
  std::map<int, errc> asked_to_leave_;
  std::set<int> delivered_;
  std::set<int> mismatched_;
  std::set<int> arrived_whole_;                                      ///< sends whose payload came along
  int lost_rank_;                                                    ///< at some time, or none
  bool has_lost_ = false;                                            ///< its link has ended
  std::unordered_map<protocol::operation_id, std::size_t> written_;  ///< of receives on a stream
  std::set<protocol::operation_id> held_;                            ///< receives that have got a first part
  const buffer::contents* arriving_ = nullptr;
  std::map<std::uint32_t, buffer::contents> kept_;

  // Of the event under way.
  std::set<int> left_;
  std::vector<end_of_operation> ended_;
  bool by_launch_thread_ = false;
};

/// What the send of that number carries.
[[nodiscard]] buffer::contents contents_of(const planned_operation& send);

}  // namespace weft::simulation
