// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocol/endpoint.hpp"
#include "simulated_traffic.hpp"

#include <weft/engine/peer.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

/// One rank of a simulated group: an endpoint and what an engine does for it, with payloads as vectors of bytes and
/// everything that leaves the rank in public queues.
namespace weft::testing {

class simulated_rank {
 public:
  simulated_rank(int self, int ranks, const protocol::endpoint_limits& limits)
      : out(static_cast<std::size_t>(ranks)),
        endpoint_(self, std::vector<std::size_t>(static_cast<std::size_t>(ranks), limits.inline_credit), limits) {}

  // What left the rank.
  std::vector<std::deque<packet>> out;  ///< by peer
  std::deque<stream_job> streams;
  std::deque<protocol::operation_id> held;  ///< receives whose user has to decide
  std::deque<sequencer_report> reports;     ///< to the sequencer
  std::vector<late_report> late;

  /// Results keep their address. `like` gives all of the shape but the size.
  operation_result& send(const destination& where, payload content, payload_shape like = {}, bool ready = true,
                         protocol::group_number group = protocol::root_group) {
    operation_result& started = start(true);
    like.bytes = content.size();
    started.content = std::move(content);
    event([&](auto& endpoint, auto& actions) { endpoint.start_send(started.id, where, like, actions, group, ready); });
    return started;
  }
  operation_result& receive(const origin& where, std::size_t bytes, payload_shape like = {}, bool ready = true,
                            protocol::group_number group = protocol::root_group) {
    operation_result& started = start(false);
    like.bytes = bytes;
    event(
        [&](auto& endpoint, auto& actions) { endpoint.start_receive(started.id, where, like, actions, group, ready); });
    return started;
  }
  operation_result& examine(const origin& where) {
    operation_result& started = start(false);
    event([&](auto& endpoint, auto& actions) { endpoint.start_examine(started.id, where, actions); });
    return started;
  }
  /// What the user decides; false where the operation has ended meanwhile.
  bool resume(protocol::operation_id id, const payload_shape& shape = {}) {
    return event([&](auto& endpoint, auto& actions) { return endpoint.resume(id, shape, actions); });
  }
  bool refuse(protocol::operation_id id, std::string reason) {
    return event([&](auto& endpoint, auto& actions) {
      return endpoint.refuse_held(id, errc::refused, std::move(reason), actions);
    });
  }
  bool discard(protocol::operation_id id) {
    return event([&](auto& endpoint, auto& actions) { return endpoint.discard_held(id, {}, actions); });
  }
  void make_ready(const operation_result& which) {
    event([&](auto& endpoint, auto& actions) { endpoint.make_ready(which.id, actions); });
  }
  void cancel(const operation_result& which, errc why = errc::cancelled) {
    event([&](auto& endpoint, auto& actions) { endpoint.cancel(which.id, why, actions); });
  }
  void close() {
    event([](auto& endpoint, auto& actions) { endpoint.close(actions); });
  }
  void lose(int peer, errc why = errc::peer_lost) {
    out[static_cast<std::size_t>(peer)].clear();
    std::erase_if(streams, [peer](const stream_job& job) { return job.peer == peer; });
    event([&](auto& endpoint, auto& actions) { endpoint.on_peer_gone(peer, why, actions); });
  }

  /// Calls the endpoint and does what it wants done.
  template <class Event>
  std::invoke_result_t<Event, protocol::endpoint&, protocol::actions&> event(Event call) {
    if constexpr (std::is_void_v<decltype(call(endpoint_, actions_))>) {
      call(endpoint_, actions_);
      perform_all();
    } else {
      const auto answer = call(endpoint_, actions_);
      perform_all();
      return answer;
    }
  }

  /// A packet from `peer`, taken apart as an engine does. False where that would close the link.
  [[nodiscard]] bool deliver(int peer, const packet& arrived) {
    using protocol::message_type;
    switch (arrived.type) {
      case message_type::announce:
        return deliver_announce(peer, arrived);
      case message_type::data:
        return deliver_data(peer, arrived);
      case message_type::clear:
        return pass(&protocol::endpoint::on_clear, peer, arrived);
      case message_type::accepted:
        return pass(&protocol::endpoint::on_accepted, peer, arrived);
      case message_type::refused: {
        const auto body = protocol::parse<protocol::refused>(arrived.body);
        const std::string reason(reinterpret_cast<const char*>(arrived.content.data()), arrived.content.size());
        return event([&](auto& endpoint, auto& actions) { return endpoint.on_refused(peer, *body, reason, actions); });
      }
      case message_type::withdraw:
        return pass(&protocol::endpoint::on_withdraw, peer, arrived);
      case message_type::withdrawn:
        return pass(&protocol::endpoint::on_withdrawn, peer, arrived);
      case message_type::credit: {
        const auto body = protocol::parse<protocol::credit>(arrived.body);
        return event([&](auto& endpoint, auto&) { return endpoint.on_credit(peer, *body); });
      }
      case message_type::ready:
        return pass(&protocol::endpoint::on_ready, peer, arrived);
      case message_type::goodbye:
        lose(peer, errc::peer_left);
        return true;
    }
    return false;
  }

  /// Moves up to `most` bytes of the oldest stream to its peer's queue.
  void pump_stream(std::size_t most) {
    stream_job job = streams.front();
    streams.pop_front();
    const payload& whole = at(job.send).content;
    const std::size_t size = std::min(most, job.end - job.sent);
    const auto from = whole.begin() + static_cast<std::ptrdiff_t>(job.sent);
    const protocol::data header{job.receive, size};
    const auto body = std::as_bytes(std::span(&header, 1));
    out[static_cast<std::size_t>(job.peer)].push_back(
        {protocol::message_type::data, {body.begin(), body.end()}, {from, from + static_cast<std::ptrdiff_t>(size)}});
    job.sent += size;
    if (job.sent < job.end) return streams.push_back(job);
    event([&](auto& endpoint, auto& actions) { endpoint.on_stream_sent(job.send, actions); });
  }

  // The sequencer's side.
  void match_withdrawal(protocol::operation_id receive, bool granted) {
    event([&](auto& endpoint, auto& actions) { endpoint.on_match_withdrawal(receive, granted, actions); });
  }

  // The launch thread's side.
  /// False: it was revoked.
  [[nodiscard]] bool take_published(protocol::operation_id id) { return published_.erase(id) != 0; }
  /// What of a send goes through the log.
  [[nodiscard]] payload published_part(protocol::operation_id id, std::size_t bytes) {
    const payload& whole = at(id).content;
    REQUIRE(whole.size() >= bytes);
    return {whole.end() - static_cast<std::ptrdiff_t>(bytes), whole.end()};
  }
  void add_content(protocol::operation_id receive, const payload& part) {
    payload& target = at(receive).content;
    target.insert(target.end(), part.begin(), part.end());
  }
  void transferred(protocol::operation_id id, boost::system::error_code code) {
    event([&](auto& endpoint, auto& actions) { endpoint.on_transferred(id, code, actions); });
  }

  [[nodiscard]] operation_result& at(protocol::operation_id id) {
    const auto found = running_.find(id);
    REQUIRE_MESSAGE(found != running_.end(), "the operation has ended, or never began");
    return *found->second;
  }
  [[nodiscard]] const protocol::endpoint& endpoint() const { return endpoint_; }
  [[nodiscard]] const std::deque<operation_result>& results() const { return results_; }
  [[nodiscard]] std::size_t running() const { return running_.size(); }
  [[nodiscard]] std::size_t kept_payloads() const { return kept_.size(); }

 private:
  using action_type = protocol::action_type;

  operation_result& start(bool sending) {
    operation_result& started = results_.emplace_back();
    started.id = endpoint_.allocate();
    started.sending = sending;
    REQUIRE(running_.emplace(started.id, &started).second);
    return started;
  }

  template <class Body>
  bool pass(bool (protocol::endpoint::*handler)(int, const Body&, protocol::actions&), int peer,
            const packet& arrived) {
    const auto body = protocol::parse<Body>(arrived.body);
    REQUIRE(body);
    return event([&](auto& endpoint, auto& actions) { return (endpoint.*handler)(peer, *body, actions); });
  }

  bool deliver_announce(int peer, const packet& arrived) {
    arriving_ = &arrived.content;
    const bool understood = pass(&protocol::endpoint::on_announce, peer, arrived);
    arriving_ = nullptr;
    return understood;
  }

  bool deliver_data(int peer, const packet& arrived) {
    const auto body = protocol::parse<protocol::data>(arrived.body);
    REQUIRE(body);
    if (body->bytes > endpoint_.stream_expected(peer, body->receive)) return false;
    payload& target = at(body->receive).content;
    target.insert(target.end(), arrived.content.begin(), arrived.content.end());
    event([&](auto& endpoint, auto& actions) { endpoint.on_streamed(body->receive, body->bytes, actions); });
    return true;
  }

  // By index: an action may make the endpoint decide more.
  void perform_all() {
    for (std::size_t i = 0; i < actions_.size(); ++i) {
      protocol::action next = actions_[i];
      perform(next);
    }
    actions_.clear();
  }

  void perform(protocol::action& next) {
    switch (next.type) {
      case action_type::transmit:
        return transmit(next);
      case action_type::take_payload:
        at(next.operation).content = arriving();
        return;
      case action_type::keep_payload:
        return keep(next.message, arriving());
      case action_type::drop_payload:
        (void)arriving();
        return;
      case action_type::use_kept:
        at(next.operation).content = take_kept(next.message);
        return;
      case action_type::drop_kept:
        (void)take_kept(next.message);
        return;
      case action_type::keep_local:
        return keep(next.message, at(next.operation).content);
      case action_type::copy_local:
        return copy(next);
      case action_type::held:
        at(next.operation).held = true;
        at(next.operation).details = next.details;
        return held.push_back(next.operation);
      case action_type::expect_stream:
        at(next.operation).content.resize(next.offset);
        return;
      case action_type::start_stream:
        streams.push_back({next.peer, next.operation, next.other, next.offset, next.offset + next.bytes});
        return;
      case action_type::publish:
        CHECK(published_.insert(next.operation).second);
        return;
      case action_type::revoke:
        return revoke(next);
      case action_type::unpublish:
        CHECK(take_published(next.operation));
        return;
      case action_type::report_match:
        return report(next.match);
      case action_type::ask_back:
        reports.push_back({true, next.match});
        return;
      case action_type::complete:
        return complete(next);
      case action_type::report_late:
        late.push_back({next.code, next.details});
        return;
    }
  }

  void transmit(const protocol::action& next) {
    if (endpoint_.is_gone(next.peer)) return;
    const auto body = protocol::body_bytes(next);
    packet leaving{next.message_kind, {body.begin(), body.end()}, {}};
    leaving.content = bytes_of(next.details.reason);
    if (next.operation != 0) leaving.content = at(next.operation).content;
    if (next.operation != 0) leaving.content.resize(next.body.announce.payload_bytes());
    out[static_cast<std::size_t>(next.peer)].push_back(std::move(leaving));
  }

  void copy(const protocol::action& next) {
    const auto begin = at(next.operation).content.begin() + static_cast<std::ptrdiff_t>(next.offset);
    at(next.other).content.resize(next.offset);
    add_content(next.other, {begin, begin + static_cast<std::ptrdiff_t>(next.bytes)});
  }

  void revoke(const protocol::action& next) {
    if (take_published(next.operation))
      endpoint_.revoked(next.operation, next.code, actions_);
    else
      endpoint_.revoke_refused(next.operation);
  }

  void report(const protocol::match& found) {
    CHECK_MESSAGE(published_.contains(found.receive), "a match is published before it is reported");
    reports.push_back({false, found});
  }

  void complete(protocol::action& next) {
    operation_result& ended = at(next.operation);
    ended.ended = true;
    std::erase(held, next.operation);
    ended.code = next.code;
    ended.details = next.details;
    published_.erase(next.operation);
    running_.erase(next.operation);
  }

  void keep(std::uint32_t message, payload content) {
    CHECK_MESSAGE(kept_.emplace(message, std::move(content)).second, "a payload is kept under this message already");
  }
  payload take_kept(std::uint32_t message) {
    const auto node = kept_.extract(message);
    REQUIRE_MESSAGE(!node.empty(), "no payload is kept under this message");
    return node.mapped();
  }
  [[nodiscard]] const payload& arriving() const {
    REQUIRE_MESSAGE(arriving_ != nullptr, "no payload is arriving");
    return *arriving_;
  }

  protocol::endpoint endpoint_;
  protocol::actions actions_;
  const payload* arriving_ = nullptr;
  std::deque<operation_result> results_;
  std::map<protocol::operation_id, operation_result*> running_;
  std::set<protocol::operation_id> published_;
  std::map<std::uint32_t, payload> kept_;
};

}  // namespace weft::testing
