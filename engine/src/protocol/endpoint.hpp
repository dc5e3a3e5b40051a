// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocol/actions.hpp"
#include "protocol/log_entry.hpp"
#include "protocol/match_queue.hpp"
#include "protocol/message_table.hpp"
#include "protocol/operation_table.hpp"

#include <weft/engine/peer.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace weft::protocol {

/// The bounds an endpoint works within, in bytes and messages.
struct endpoint_limits {
  std::size_t eager_limit = 0;
  std::size_t max_unmatched = 0;
  std::size_t max_object_bytes = 0;
  std::size_t inline_credit = 0;  ///< granted to each peer
  bool device_is_apart = false;   ///< the host does not reach its memory
};

/// One rank's half of the conversation: announces its sends, matches what is announced to it, and decides what each
/// operation does next. Pure: events come in by call, what is to be done comes out as a list of actions.
///
/// `endpoint.cpp` has the user's side, `endpoint_matching.cpp` how messages and receives meet and part again,
/// `endpoint_holding.cpp` messages about which a user decides, or that come in two parts, and `endpoint_progress.cpp`
/// what happens to them afterwards.
///
/// An operation is allocated (which gives it a name and a slot to keep its buffers under), then started. It ends with
/// one `complete` action, after which its name is invalid and its slot is used again.
class endpoint {
 public:
  /// `credit_of_rank`: what each rank of the group grants to us.
  endpoint(int self, const std::vector<std::size_t>& credit_of_rank, endpoint_limits limits);

  [[nodiscard]] operation_id allocate() { return operations_.allocate(); }
  /// The name of an operation that will not be started.
  void release(operation_id id) { operations_.release(id); }
  /// An operation that has not ended, as it stands.
  [[nodiscard]] const operation_details& details_of(operation_id id) const noexcept {
    return operations_.find(id)->details;
  }
  /// The operation in a slot that is in use.
  [[nodiscard]] operation_id name_of(std::uint32_t slot) const noexcept { return operations_.name_of(slot); }
  [[nodiscard]] static std::uint32_t slot_of(operation_id id) noexcept { return operation_table::slot_of(id); }

  [[nodiscard]] bool is_under_way(operation_id id) const noexcept { return operations_.find(id) != nullptr; }
  /// By which route a send would go.
  [[nodiscard]] weft::route route_of(const destination& where, const payload_shape& shape) const noexcept;

  /// A group that was split off, with this rank in it. Messages within it may have arrived before.
  void add_group(group_number group, std::vector<int> members);

  // The user's side.
  /// Ranks are those of the root group, of which `group` has some. Where the buffer is not `ready` (a kernel is still
  /// to fill or to read it), the operation takes its place in the order, and waits for `make_ready`.
  void start_send(operation_id id, const destination& where, const payload_shape& shape, actions& out,
                  group_number group = root_group, bool ready = true);
  void start_receive(operation_id id, const origin& where, const payload_shape& shape, actions& out,
                     group_number group = root_group, bool ready = true);
  /// Receives a message of any kind and size, up to where its user can look at it.
  void start_examine(operation_id id, const origin& where, actions& out, group_number group = root_group);
  /// The user has decided about a `held` message: it is received, as `shape` says where that was not compared before.
  /// False: the operation is not held any more, because it has ended.
  [[nodiscard]] bool resume(operation_id id, const payload_shape& shape, actions& out);
  /// ... it fails at both ends, with a text that goes to the other.
  [[nodiscard]] bool refuse_held(operation_id id, errc code, std::string reason, actions& out);
  /// ... it is taken, and what has not come of it is not needed: its send succeeds. The receive ends with `code`.
  [[nodiscard]] bool discard_held(operation_id id, boost::system::error_code code, actions& out);
  /// What to say beyond the code, should the operation fail. Without effect where it has ended.
  void explain(operation_id id, std::string reason);
  /// The buffer of an operation is ready. Without effect where it has ended.
  void make_ready(operation_id id, actions& out);
  /// Ends an operation early, with `why`, where that is possible without harm to the other end. A send asks its
  /// receiver first, and what goes through the log asks the sequencer. Where it is too late the operation is carried
  /// out. The first reason given stays.
  void cancel(operation_id id, errc why, actions& out);
  /// Fails whatever is not matched, now and from now on. Matched operations are carried out.
  void close(actions& out);

  /// Ends every operation, whatever its state: nobody carries anything out any more.
  void end_all(errc code, actions& out);

  // The link's side. `false`: the peer broke the protocol.
  [[nodiscard]] bool on_announce(int peer, const announce& body, actions& out);
  [[nodiscard]] bool on_clear(int peer, const clear& body, actions& out);
  [[nodiscard]] bool on_accepted(int peer, const accepted& body, actions& out);
  [[nodiscard]] bool on_refused(int peer, const refused& body, std::string_view reason, actions& out);
  [[nodiscard]] bool on_withdraw(int peer, const withdraw& body, actions& out);
  [[nodiscard]] bool on_withdrawn(int peer, const withdrawn& body, actions& out);
  [[nodiscard]] bool on_credit(int peer, const credit& body);
  [[nodiscard]] bool on_ready(int peer, const ready& body, actions& out);
  /// `why` is `peer_lost` or `peer_left`; the first reason given stays.
  void on_peer_gone(int peer, errc why, actions& out);

  // The sequencer's side.
  /// The answer to `ask_back`: the match is undone (`granted`), or is in the log.
  void on_match_withdrawal(operation_id receive, bool granted, actions& out);

  // The payload's side.
  /// How many bytes receive `id` still expects on the link from `peer`; nothing where it is no such receive. Nothing is
  /// less than any number: a piece of zero bytes for an unknown receive exceeds it too.
  [[nodiscard]] std::optional<std::uint64_t> stream_expected(int peer, operation_id id) const noexcept;
  /// `bytes` of the payload of receive `id` have arrived, no more than were expected.
  void on_streamed(operation_id id, std::uint64_t bytes, actions& out);
  /// The link has taken all bytes of a send.
  void on_stream_sent(operation_id id, actions& out);
  /// The launch thread has carried out (or failed) a published operation.
  void on_transferred(operation_id id, boost::system::error_code code, actions& out);
  /// The answer to `revoke`: the launch thread had not begun and never will.
  void revoked(operation_id id, boost::system::error_code code, actions& out);
  /// The other answer: the launch thread has begun, and will say how it ended.
  void revoke_refused(operation_id id);
  /// Takes back every published operation that has not begun: the log is gone.
  void on_log_lost(actions& out);

  /// Operations that close waits for.
  [[nodiscard]] std::size_t in_flight() const noexcept { return in_flight_; }
  [[nodiscard]] std::size_t unmatched_messages() const noexcept { return queue_.unexpected_count(); }
  [[nodiscard]] bool log_is_lost() const noexcept { return log_lost_; }
  [[nodiscard]] bool is_gone(int peer) const noexcept { return peers_[static_cast<std::size_t>(peer)].gone; }

 private:
  struct peer_state {
    std::size_t granted = 0;   ///< inline payload that this peer takes from us at most, bytes
    std::size_t credit = 0;    ///< of it, still to be used
    std::size_t held = 0;      ///< inline payload taken from this peer and not given back as credit, bytes
    std::size_t consumed = 0;  ///< of it, no longer stored here
    bool gone = false;
    errc why = errc::peer_lost;
  };

  /// Where the payload of a message is when a receive meets it, if it came with the announcement.
  enum class payload_place : std::uint8_t {
    arriving,  ///< behind the announcement that is being read
    kept,      ///< under the message's slot
  };

  peer_state& peer_at(int rank) { return peers_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] bool in_group(int rank) const noexcept { return rank >= 0 && rank < static_cast<int>(peers_.size()); }
  [[nodiscard]] operation* find(operation_id id, operation_kind kind, int peer) noexcept;

  [[nodiscard]] errc compare(const operation& receive, const announce& body) const noexcept;

  void announce_to_peer(operation_id id, operation& op, announce body, actions& out);
  void announce_to_self(operation_id id, operation& op, announce body, actions& out);
  /// The message in that slot and the receive belong together; neither is in the queue any more.
  void match(operation_id receive, std::uint32_t message, payload_place place, actions& out);
  /// What the receive takes and what the message is are compared.
  void settle_match(operation_id receive, std::uint32_t message, payload_place place, actions& out);
  /// Both are ready.
  void carry(operation_id receive, std::uint32_t message, payload_place place, actions& out);
  void keep_match(operation_id receive, std::uint32_t message, payload_place place, actions& out);
  [[nodiscard]] std::uint32_t take_match(operation& op);
  void hold(operation_id receive, actions& out);
  [[nodiscard]] operation* find_held(operation_id id) noexcept;
  void carry_head(operation_id receive, std::uint32_t message, payload_place place, actions& out);
  void ask_for_head(operation_id receive, std::uint32_t message, actions& out);
  void head_arrived(operation_id receive, std::uint32_t message, actions& out);
  void start_stream(operation& op, int peer, const clear& body, std::uint64_t offset, std::uint64_t bytes,
                    actions& out);
  void carry_if_ready(operation_id receive, actions& out);
  void carry_inline(operation_id receive, std::uint32_t message, payload_place place, actions& out);
  void carry_on_link(operation_id receive, std::uint32_t message, actions& out);
  void carry_locally(operation_id receive, std::uint32_t message, actions& out);
  void carry_through_log(operation_id receive, std::uint32_t message, actions& out);
  [[nodiscard]] protocol::match match_of(operation_id receive, const operation& op);
  void fail_match(operation_id receive, std::uint32_t message, errc code, payload_place place, actions& out);
  void refuse(int source, const announce& body, errc code, const payload_shape& wanted, std::string_view reason,
              actions& out);

  void ask_back(operation_id receive, operation& op, actions& out);
  void tell_withdrawn(int source, operation_id send, actions& out);
  void undo_match(operation_id receive, actions& out);
  void leave_log(std::uint32_t message, operation_id receive, operation& op, actions& out);
  void restore_message(std::uint32_t message, actions& out);
  void restore_receive(operation_id receive, actions& out);

  void discard(std::uint32_t message, actions& out);
  void give_credit(int source, const announce& body, actions& out);
  void fail_receive(operation_id id, errc code, actions& out);
  void end_send(operation_id id, boost::system::error_code code, actions& out);
  void fail_those_alone(actions& out);
  [[nodiscard]] bool is_alone(group_number group) const;
  void become_matched(operation& op) noexcept;
  void complete(operation_id id, boost::system::error_code code, actions& out);

  int self_;
  endpoint_limits limits_;
  operation_table operations_;
  message_table messages_;
  match_queue queue_{messages_};
  std::vector<peer_state> peers_;
  std::size_t in_flight_ = 0;
  std::unordered_map<group_number, std::vector<int>> groups_;  ///< members of those that were split off
  int present_peers_ = 0;
  errc last_gone_ = errc::peer_lost;  ///< why the last of them went
  bool closed_ = false;
  bool log_lost_ = false;
};

}  // namespace weft::protocol
