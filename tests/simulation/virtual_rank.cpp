// SPDX-License-Identifier: Apache-2.0
#include "virtual_rank.hpp"

#include "protocol/action_makers.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace weft::simulation {
namespace {

using protocol::action_type;
using protocol::message_type;

constexpr protocol::endpoint_limits limits{.eager_limit = eager_units,
                                           .max_unmatched = 1'000'000,
                                           .max_object_bytes = 1'000'000,
                                           .inline_credit = credit_units};

constexpr std::size_t most_per_packet = 64;

buffer::contents part_of(const buffer& whole, std::size_t offset, std::size_t size) {
  const auto begin = whole.content.begin() + static_cast<std::ptrdiff_t>(offset);
  return {begin, begin + static_cast<std::ptrdiff_t>(size)};
}

std::size_t ranks_of(const program& what) {
  return static_cast<std::size_t>(what.ranks());
}

}  // namespace

buffer::contents contents_of(const planned_operation& send) {
  buffer::contents content(send.units);
  for (std::size_t i = 0; i < content.size(); ++i)
    content[i] = static_cast<std::uint16_t>(static_cast<std::size_t>(send.number) * 7 + i);
  return content;
}

virtual_rank::virtual_rank(world& all, const program& what, std::vector<buffer>& buffers, virtual_launch_thread& launch,
                           const setting& how, int rank, connections to)
    : world_(all),
      program_(what),
      buffers_(buffers),
      launch_(launch),
      rank_(rank),
      groups_are_aborted_(how.groups_get_stuck || how.lost_rank >= 0),
      to_(std::move(to)),
      endpoint_(rank, std::vector<std::size_t>(ranks_of(what), credit_units), limits),
      reference_(what),
      lost_rank_(how.lost_rank) {}

/// Lets the endpoint decide, does what it wants, and then looks at what has come of it.
template <class Call>
void virtual_rank::event(Call call) {
  if (is_stopped_) return;
  call();
  for (std::size_t i = 0; i < actions_.size(); ++i) {
    const protocol::action next = actions_[i];
    perform(next);
  }
  actions_.clear();
  settle();
}

// ---- what the user does

void virtual_rank::start(const planned_operation& what, protocol::group_number group) {
  const protocol::operation_id id = endpoint_.allocate();
  numbers_[id] = what.number;
  names_[what.number] = id;
  buffer& memory = buffers_[static_cast<std::size_t>(what.number)];
  const int peer = what.peer < 0 ? -1 : program_.world_rank(what.group, what.peer);
  payload_shape shape{.bytes = what.units};
  if (what.head != 0) shape = {.bytes = what.sending ? what.units : 0, .kind = payload_kind::objects};
  if (what.sending) shape.head = what.head;
  if (what.sending) {
    if (peer == rank_) reference_.arrive(what.number);
    auto where = to(peer, what.tag).via(what.via);
    if (what.until_matched) where = where.until(matched);
    event([&] { endpoint_.start_send(id, where, shape, actions_, group, memory.ready); });
  } else {
    reference_.post(what.number);
    const origin where{.rank = peer, .tag = what.tag, .any_rank = peer < 0, .every_tag = what.any_tag};
    event([&] { endpoint_.start_receive(id, where, shape, actions_, group, memory.ready); });
  }
}

void virtual_rank::cancel(const planned_operation& what, errc why) {
  const auto found = names_.find(what.number);
  if (is_stopped_ || found == names_.end() || !asked_to_leave_.emplace(what.number, why).second) return;
  world_.note(rank_, why == errc::cancelled ? "cancels " : "gives up ", what);
  const protocol::operation_id id = found->second;
  event([&] { endpoint_.cancel(id, why, actions_); });
}

void virtual_rank::make_ready(const planned_operation& what) {
  const auto found = names_.find(what.number);
  if (found == names_.end()) return;
  const protocol::operation_id id = found->second;
  event([&] { endpoint_.make_ready(id, actions_); });
}

// ---- what comes from elsewhere

// What arrived whole can still be received, and nothing else of that rank's.
void virtual_rank::peer_lost(int peer) {
  has_lost_ = true;
  std::set<int> unreachable;
  for (const planned_operation& one : program_.operations)
    if (one.sending && one.rank == peer && !arrived_whole_.contains(one.number)) unreachable.insert(one.number);
  reference_.drop(std::move(unreachable));
  event([&] { endpoint_.on_peer_gone(peer, errc::peer_lost, actions_); });
}

void virtual_rank::answer_withdrawal(protocol::operation_id receive, bool granted) {
  event([&] { endpoint_.on_match_withdrawal(receive, granted, actions_); });
}

void virtual_rank::transferred(protocol::operation_id id, boost::system::error_code code) {
  by_launch_thread_ = true;
  event([&] { endpoint_.on_transferred(id, code, actions_); });
  by_launch_thread_ = false;
}

template <class Body>
void virtual_rank::pass(bool (protocol::endpoint::*handler)(int, const Body&, protocol::actions&), int peer,
                        const packet& arrived) {
  const Body body = protocol::parse<Body>(arrived.body).value();
  event([&] {
    if (!(endpoint_.*handler)(peer, body, actions_))
      throw violation("protocol: rank " + std::to_string(rank_) + " does not accept a message of rank " +
                      std::to_string(peer));
  });
}

void virtual_rank::deliver(int peer, const packet& arrived) {
  if (is_stopped_) return;
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
      const auto body = protocol::parse<protocol::refused>(arrived.body).value();
      return event([&] { (void)endpoint_.on_refused(peer, body, {}, actions_); });
    }
    case message_type::withdraw:
      return pass(&protocol::endpoint::on_withdraw, peer, arrived);
    case message_type::withdrawn:
      return pass(&protocol::endpoint::on_withdrawn, peer, arrived);
    case message_type::ready:
      return pass(&protocol::endpoint::on_ready, peer, arrived);
    case message_type::credit:
      if (!endpoint_.on_credit(peer, protocol::parse<protocol::credit>(arrived.body).value()))
        throw violation("protocol: more credit is given back than was taken");
      return;
    case message_type::goodbye:
      throw violation("protocol: nobody leaves here");
  }
}

void virtual_rank::deliver_announce(int peer, const packet& arrived) {
  const auto body = protocol::parse<protocol::announce>(arrived.body).value();
  const int send = to_.number_of(peer, body.send);
  world_.note(rank_, "hears of message ", message_of(send), " from ", peer);
  reference_.arrive(send);
  if (body.arrived_whole()) arrived_whole_.insert(send);
  arriving_ = &arrived.content;
  pass(&protocol::endpoint::on_announce, peer, arrived);
  arriving_ = nullptr;
}

void virtual_rank::deliver_data(int peer, const packet& arrived) {
  const auto body = protocol::parse<protocol::data>(arrived.body).value();
  if (body.bytes > endpoint_.stream_expected(peer, body.receive))
    throw violation("protocol: data that nobody waits for");
  buffer& target = memory_of(body.receive);
  target.touch("a link");
  std::copy(arrived.content.begin(), arrived.content.end(),
            target.content.begin() + static_cast<std::ptrdiff_t>(written_[body.receive]));
  written_[body.receive] += arrived.content.size();
  event([&] { endpoint_.on_streamed(body.receive, body.bytes, actions_); });
}

// ---- what the endpoint wants done

void virtual_rank::perform(const protocol::action& next) {
  switch (next.type) {
    case action_type::transmit:
      return transmit(next);
    case action_type::take_payload:
      return write(next.operation, arriving());
    case action_type::keep_payload:
      if (!kept_.emplace(next.message, arriving()).second) throw violation("protocol: two payloads for one message");
      return;
    case action_type::drop_payload:
      return;
    case action_type::use_kept:
      return write(next.operation, take_kept(next.message));
    case action_type::drop_kept:
      (void)take_kept(next.message);
      return;
    case action_type::keep_local:
      memory_of(next.operation).touch("keeping it");
      kept_.emplace(next.message, memory_of(next.operation).content);
      return;
    case action_type::copy_local:
      memory_of(next.operation).touch("a copy");
      return write(next.other, part_of(memory_of(next.operation), next.offset, next.bytes), next.offset);
    case action_type::held:
      return decide_later(next.operation);
    case action_type::expect_stream:
      written_[next.operation] = next.offset;
      return;
    case action_type::start_stream:
      return pump({next.peer, next.operation, next.other, next.offset, next.offset + next.bytes});
    case action_type::publish:
      return launch_.publish(next.operation, memory_of(next.operation));
    case action_type::revoke:
      if (launch_.revoke(next.operation)) return endpoint_.revoked(next.operation, next.code, actions_);
      return endpoint_.revoke_refused(next.operation);
    case action_type::unpublish:
      (void)launch_.revoke(next.operation);
      return;
    case action_type::report_match:
      return to_.report_match(next.match);
    case action_type::ask_back:
      return to_.ask_back(next.match);
    case action_type::complete:
      return complete(next);
    case action_type::report_late:
      if (!program_.provokes_mismatches || next.code != errc::size_mismatch)
        throw violation("outcome: a late report of " + next.code.message());
      return;
  }
}

void virtual_rank::transmit(const protocol::action& next) {
  const auto body = protocol::body_bytes(next);
  packet leaving{next.message_kind, {body.begin(), body.end()}, {}};
  if (next.operation != 0) {
    const buffer& from = memory_of(next.operation);
    from.touch("a link");
    leaving.content = part_of(from, 0, next.body.announce.payload_bytes());
  }
  if (next.message_kind == message_type::withdrawn) left_.insert(to_.number_of(next.peer, next.body.withdrawn.send));
  to_.send(next.peer, std::move(leaving));
}

void virtual_rank::complete(const protocol::action& next) {
  const int number = numbers_.at(next.operation);
  (void)launch_.revoke(next.operation);
  const planned_operation& what = planned(number);
  const bool within_rank = what.sending && program_.world_rank(what.group, what.peer) == rank_;
  const bool leaves = next.code == errc::cancelled || next.code == errc::timed_out ||
                      (next.code == errc::peer_lost && !by_launch_thread_);
  ended_.push_back({number, next.code, is_excused(what, next.code)});
  if (has_taken_head(next.operation) && (next.code == errc::cancelled || next.code == errc::timed_out)) {
    // It has its message, which is over for the sender, too.
    if (const auto send = reference_.message_of(number)) delivered_.insert(*send);
    return reference_.end(number);
  }
  if (leaves && (!what.sending || within_rank)) left_.insert(number);
}

/// Whether a receive has the first part of a message, or has asked for it and got it: no other can have the message.
bool virtual_rank::has_taken_head(protocol::operation_id id) const {
  const std::size_t head = planned(numbers_.at(id)).head;
  const auto written = written_.find(id);
  return head != 0 && (held_.contains(id) || (written != written_.end() && written->second >= head));
}

bool virtual_rank::is_excused(const planned_operation& what, boost::system::error_code code) const {
  if (code == errc::transfer_aborted) return groups_are_aborted_ && by_launch_thread_;
  // The launch thread may hear of it first.
  return code == errc::peer_lost && (has_lost_ || by_launch_thread_) && needs(lost_rank_, what);
}

/// Whether an operation cannot succeed without that rank.
bool virtual_rank::needs(int peer, const planned_operation& what) const {
  if (what.peer >= 0) return program_.world_rank(what.group, what.peer) == peer;
  if (const auto send = reference_.message_of(what.number); send && planned(*send).rank == peer) return true;
  const auto& members = program_.groups[static_cast<std::size_t>(what.group)].members;
  return std::all_of(members.begin(), members.end(), [&](int member) { return member == rank_ || member == peer; });
}

void virtual_rank::pump(stream_job job) {
  world_.time.after_some_delay([this, job]() mutable {
    if (is_stopped_ || endpoint_.is_gone(job.peer)) return;
    const buffer& from = memory_of(job.send);
    from.touch("a link");
    const std::size_t size = std::min(most_per_packet, job.end - job.sent);
    const auto begin = from.content.begin() + static_cast<std::ptrdiff_t>(job.sent);
    const protocol::data header{job.receive, size};
    const auto body = std::as_bytes(std::span(&header, 1));
    to_.send(job.peer,
             {message_type::data, {body.begin(), body.end()}, {begin, begin + static_cast<std::ptrdiff_t>(size)}});
    job.sent += size;
    if (job.sent < job.end) return pump(job);
    event([&] { endpoint_.on_stream_sent(job.send, actions_); });
  });
}

void virtual_rank::decide_later(protocol::operation_id id) {
  held_.insert(id);
  world_.time.after_some_delay([this, id] { event([&] { (void)endpoint_.resume(id, {}, actions_); }); });
}

void virtual_rank::write(protocol::operation_id id, const buffer::contents& content, std::size_t offset) {
  buffer& target = memory_of(id);
  target.touch("a receive");
  target.content.resize(std::max(target.content.size(), offset + content.size()));
  std::copy(content.begin(), content.end(), target.content.begin() + static_cast<std::ptrdiff_t>(offset));
}

const buffer::contents& virtual_rank::arriving() const {
  if (arriving_ == nullptr) throw violation("protocol: no payload is arriving");
  return *arriving_;
}

buffer::contents virtual_rank::take_kept(std::uint32_t message) {
  auto node = kept_.extract(message);
  if (node.empty()) throw violation("protocol: no payload is kept for this message");
  return std::move(node.mapped());
}

// ---- what has come of it

void virtual_rank::settle() {
  const auto ended = std::exchange(ended_, {});
  reference_.leave(std::exchange(left_, {}));
  for (const end_of_operation& one : ended) {
    check_end(one);
    buffers_[static_cast<std::size_t>(one.number)].released = true;
    names_.erase(one.number);
    if (one.code)
      world_.note(rank_, planned(one.number), " ends as ", one.code.message());
    else
      world_.note(rank_, "completes ", planned(one.number));
  }
  for (const end_of_operation& one : ended) to_.ended(planned(one.number), one.code);
}

void virtual_rank::check_end(const end_of_operation& ended) {
  const planned_operation& what = planned(ended.number);
  const std::string name = name_of(what);
  if (!what.sending && (!ended.code || ended.code == errc::size_mismatch)) {
    const auto send = reference_.message_of(ended.number);
    if (!send) throw violation("payload: " + name + " has got what was not for it");
    const bool fits = planned(*send).units == what.units;
    if (fits != !ended.code) throw violation("outcome: " + name + " ends as " + ended.code.message());
    if (fits)
      check_received(what, *send);
    else
      mismatched_.insert(*send);
    reference_.end(ended.number);
    return;
  }
  if (ended.is_excused) return reference_.end(ended.number);
  if (!ended.code || ended.code == errc::size_mismatch) return;  // of a send: compared with its receive at the end
  const auto asked = asked_to_leave_.find(ended.number);
  if (asked == asked_to_leave_.end() || ended.code != asked->second)
    throw violation("outcome: " + name + " ends as " + ended.code.message());
}

void virtual_rank::check_received(const planned_operation& receive, int send) {
  const bool is_intact = buffers_[static_cast<std::size_t>(receive.number)].content == contents_of(planned(send));
  if (is_intact && delivered_.insert(send).second) return;
  throw violation("payload: " + name_of(receive) + " should have got message " + std::to_string(message_of(send)));
}

}  // namespace weft::simulation
