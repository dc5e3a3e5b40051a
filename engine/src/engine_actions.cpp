// SPDX-License-Identifier: Apache-2.0
// Events in, actions out: between users and links on one side and the protocol's endpoint on the other.
#include "engine_core.hpp"

#include "protocol/action_makers.hpp"

#include <algorithm>
#include <limits>

namespace weft::detail {
namespace {

using protocol::action;
using protocol::action_type;
using protocol::message_type;
using protocol::operation_id;

/// Gives the peer the number that it has in the operation's group.
void see_from(const group& group, operation_details& details) {
  if (details.peer >= 0) details.peer = group.rank_of(details.peer);
}

// Larger sizes are no memory's: they come from sums that went wrong.
constexpr std::uint64_t largest_message = std::numeric_limits<std::int64_t>::max();

std::string describe_device(std::int16_t given, std::int16_t own) {
  if (own == host_device_ordinal)
    return "a view of memory of device " + std::to_string(given) +
           ", and this engine is on the host device, which reaches no GPU; of its own buffers the views have ordinal " +
           std::to_string(own);
  return "a view of memory of device " + std::to_string(given) + ", and this engine is on device " +
         std::to_string(own) + "; copy it there, or use an engine of that device";
}

std::uint32_t slot_of(operation_id id) {
  return protocol::endpoint::slot_of(id);
}

}  // namespace

// ---- what users start

void engine_core::start(std::span<operation_request> requests) {
  const std::lock_guard lock(mutex_);
  for (operation_request& request : requests) begin(request);
  schedule();
}

errc engine_core::check_memory(const operation_request& request, operation_details& details) const {
  payload_shape& shape = details.here;
  shape.kind = request.kind;
  shape.fingerprint = request.fingerprint;
  if (request.kind == payload_kind::objects) {
    shape.bytes = request.frame.size();
    shape.head = request.head;
    for (const const_buffer_view& view : request.pieces) {
      shape.bytes += view.size;
      shape.memory = view.memory;  // of all that follows the frame
      if (view.memory != memory_kind::device || view.ordinal == device_ordinal_) continue;
      details.reason = describe_device(view.ordinal, device_ordinal_);
      return errc::memory_mismatch;
    }
    return errc{};
  }
  errc problem{};
  if (!request.pieces.empty()) {
    shape.element = request.pieces.front().element;
    shape.memory = request.pieces.front().memory;
  }
  for (const const_buffer_view& view : request.pieces) {
    shape.bytes += view.size;
    if (view.size > largest_message || shape.bytes > largest_message) {
      problem = errc::invalid_option;
      details.reason = "a message has at most " + std::to_string(largest_message) + " bytes";
      return problem;
    }
    if (view.element > element_type::c128 || view.memory > memory_kind::device) {
      problem = errc::invalid_option;
      details.reason = "a view has a number for its element type or kind of memory that stands for none";
    } else if (view.data == nullptr && view.size != 0) {
      problem = errc::null_buffer;
      details.reason = "give the address of " + std::to_string(view.size) + " bytes, or a size of 0";
    } else if (view.memory != shape.memory) {
      problem = errc::memory_mismatch;
      details.reason = std::string("one message from views of ")
                           .append(name(shape.memory))
                           .append(" and of ")
                           .append(name(view.memory))
                           .append(" memory; all views of a message lie in one kind of memory");
    } else if (view.memory == memory_kind::device && view.ordinal != device_ordinal_) {
      problem = errc::memory_mismatch;
      details.reason = describe_device(view.ordinal, device_ordinal_);
    } else if (view.element != shape.element) {
      problem = errc::element_type_mismatch;
      details.reason = std::string("one message from views of ")
                           .append(name(shape.element))
                           .append(" and of ")
                           .append(name(view.element))
                           .append("; all views of a message have one element type");
    }
  }
  return problem;
}

// The protocol knows the ranks of the group that was joined.
errc engine_core::translate(operation_request& request, operation_details& details) const {
  if (details.operation == operation_kind::receive && request.from.any_rank) return errc{};
  if (!request.group->has(details.peer)) {
    details.reason = "there are ranks 0 to " + std::to_string(request.group->size() - 1);
    return errc::rank_out_of_range;
  }
  request.to.rank = request.from.rank = request.group->members[static_cast<std::size_t>(details.peer)];
  return errc{};
}

void engine_core::begin(operation_request& request) {
  operation_details details;
  details.operation = request.operation;
  const bool sending = request.operation == operation_kind::send;
  details.peer = sending ? request.to.rank : (request.from.any_rank ? -1 : request.from.rank);
  details.tag = sending ? request.to.tag : request.from.tag;
  details.any_tag = !sending && request.from.every_tag;
  errc problem = check_memory(request, details);
  if (const errc wrong_rank = translate(request, details); wrong_rank != errc{}) problem = wrong_rank;
  if (problem == errc{} && sending && request.to.route > route::pair) {
    problem = errc::invalid_option;
    details.reason = "the route has a number that stands for none";
  }
  if (!endpoint_ || life_ == life::created) {
    problem = errc::not_joined;
    details.reason.clear();
  }
  if (problem != errc{}) return refuse(request, problem, std::move(details));
  const operation_id id = endpoint_->allocate();
  operation_record& record = records_[slot_of(id)];
  record.take(request);
  problem = prepare(id, request, details);
  if (problem != errc{}) {
    record.clear();
    endpoint_->release(id);
    return refuse(request, problem, std::move(details));
  }
  request.waiter->operation = id;
  if (const auto limit = sending ? request.to.limit : request.from.limit; limit != no_limit)
    set_deadline(slot_of(id), limit);
  if (sending)
    endpoint_->start_send(id, request.to, details.here, actions_, request.group->number, record.is_ready());
  else if (request.examines)
    endpoint_->start_examine(id, request.from, actions_, request.group->number);
  else
    endpoint_->start_receive(id, request.from, details.here, actions_, request.group->number, record.is_ready());
  perform();
}

void engine_core::refuse(operation_request& request, errc why, operation_details details) {
  ready_.push(finished_operation{request.waiter, why, {.details = std::move(details)}});
  keep_frame(std::move(request.frame));
}

void engine_core::cancel(waiter& who, boost::asio::cancellation_type kinds) noexcept {
  using boost::asio::cancellation_type;
  const std::lock_guard lock(mutex_);
  if (who.operation == 0 || is_delivery(who.operation)) return;
  const bool may_leave =
      (kinds & (cancellation_type::partial | cancellation_type::terminal)) != cancellation_type::none;
  end_early(who.operation, errc::cancelled, may_leave);
  schedule();
}

// What cannot be taken back at once, or ever, is gone on with. Who waits for memory that the engine owns need not wait
// for that: a deadline holds even if the other end answers nothing.
void engine_core::end_early(operation_id id, errc why, bool may_leave) {
  endpoint_->cancel(id, why, actions_);
  perform();
  operation_record& record = records_[slot_of(id)];
  if (!may_leave || record.waiter == nullptr || record.waiter->operation != id || !record.is_owned()) return;
  record.waiter->operation = 0;
  operation_details details = endpoint_->details_of(id);
  see_from(*record.group, details);
  ready_.push(finished_operation{std::exchange(record.waiter, nullptr), why, {.details = std::move(details)}});
}

void engine_core::abandon(waiter& who) noexcept {
  const std::lock_guard lock(mutex_);
  const operation_id told = ready_.forget(who);
  if (is_delivery(who.operation)) {
    deliveries_.at(who.operation).who = nullptr;
    return;
  }
  const operation_id id = who.operation != 0 ? who.operation : told;
  if (id == 0) return;
  held_ends_.erase(id);
  if (!endpoint_->is_under_way(id)) return;
  operation_record& record = records_[slot_of(id)];
  record.is_held = false;
  record.waiter = nullptr;
  endpoint_->cancel(id, errc::cancelled, actions_);
  perform();
  schedule();
}

void engine_core::complete_soon(waiter& who, boost::system::error_code code, operation_details details) {
  const std::lock_guard lock(mutex_);
  ready_.push(finished_operation{&who, code, {.details = std::move(details)}});
  schedule();
}

// ---- what peers say

bool engine_core::on_message(message_link& link, std::uint8_t type, std::span<const std::byte> body) {
  if (&link == report_link_.get()) return on_sequencer_message(type, body);
  const bool understood = on_peer_message(link.peer(), link, type, body);
  perform();
  return understood;
}

bool engine_core::on_peer_message(int peer, message_link& link, std::uint8_t type, std::span<const std::byte> body) {
  const auto whole = [&]<class Body>(const std::optional<Body>& parsed) {
    return parsed && body.size() == sizeof(Body);
  };
  switch (static_cast<message_type>(type)) {
    case message_type::announce: {
      const auto parsed = protocol::parse<protocol::announce>(body);
      if (!parsed) return false;
      arriving_payload_ = body.subspan(sizeof(protocol::announce));
      if (arriving_payload_.size() != parsed->payload_bytes()) return false;
      const bool accepted = endpoint_->on_announce(peer, *parsed, actions_);
      perform();
      arriving_payload_ = {};
      return accepted;
    }
    case message_type::clear: {
      const auto parsed = protocol::parse<protocol::clear>(body);
      return whole(parsed) && endpoint_->on_clear(peer, *parsed, actions_);
    }
    case message_type::data:
      return on_data(peer, link, body);
    case message_type::accepted: {
      const auto parsed = protocol::parse<protocol::accepted>(body);
      return whole(parsed) && endpoint_->on_accepted(peer, *parsed, actions_);
    }
    case message_type::refused:
      return on_refused(peer, body);
    case message_type::withdraw: {
      const auto parsed = protocol::parse<protocol::withdraw>(body);
      return whole(parsed) && endpoint_->on_withdraw(peer, *parsed, actions_);
    }
    case message_type::withdrawn: {
      const auto parsed = protocol::parse<protocol::withdrawn>(body);
      return whole(parsed) && endpoint_->on_withdrawn(peer, *parsed, actions_);
    }
    case message_type::credit: {
      const auto parsed = protocol::parse<protocol::credit>(body);
      return whole(parsed) && endpoint_->on_credit(peer, *parsed);
    }
    case message_type::ready: {
      const auto parsed = protocol::parse<protocol::ready>(body);
      return whole(parsed) && endpoint_->on_ready(peer, *parsed, actions_);
    }
    case message_type::goodbye:
      peer_gone(peer, errc::peer_left);
      return true;
  }
  return false;
}

bool engine_core::on_refused(int peer, std::span<const std::byte> body) {
  using protocol::refused;
  const auto parsed = protocol::parse<refused>(body);
  if (!parsed || body.size() > sizeof(refused) + refused::most_text) return false;
  const auto text = body.subspan(sizeof(refused));
  return endpoint_->on_refused(peer, *parsed, {reinterpret_cast<const char*>(text.data()), text.size()}, actions_);
}

bool engine_core::on_data(int peer, message_link& link, std::span<const std::byte> body) {
  const auto parsed = protocol::parse<protocol::data>(body);
  if (!parsed || body.size() != sizeof(protocol::data)) return false;
  if (parsed->bytes > endpoint_->stream_expected(peer, parsed->receive)) return false;
  link.read_raw(parsed->receive, parsed->bytes == 0 ? memory_cursor{} : records_[slot_of(parsed->receive)].cursor,
                parsed->bytes);
  return true;
}

bool engine_core::on_sequencer_message(std::uint8_t type, std::span<const std::byte> body) {
  if (static_cast<log_message>(type) == log_message::split_done) {
    const auto done = decode_split_done(body);
    if (!done || !concerns(*done, rank(), world_size())) return false;
    on_split_done(*done);
    return true;
  }
  if (static_cast<log_message>(type) == log_message::reserved) return on_reserved(body);
  if (static_cast<log_message>(type) == log_message::lease_ended) return on_lease_ended(body);
  const auto answer = protocol::parse<match_withdrawal_body>(body);
  if (static_cast<log_message>(type) != log_message::match_withdrawal || !answer) return false;
  endpoint_->on_match_withdrawal(answer->receive, answer->granted == 1, actions_);
  perform();
  return true;
}

void engine_core::on_raw_read(message_link&, std::uint64_t job, std::uint64_t bytes) {
  records_[slot_of(job)].cursor.advance(bytes);
  endpoint_->on_streamed(job, bytes, actions_);
  perform();
}

void engine_core::on_streamed(message_link&, std::uint64_t job) {
  endpoint_->on_stream_sent(job, actions_);
  perform();
}

void engine_core::on_link_closed(message_link& link, boost::system::error_code code) {
  if (&link == report_link_.get()) return;  // the launch thread sees the same on the log's link
  if (code == errc::malformed_message)
    log(log_level::error, "rank " + std::to_string(link.peer()) + " sent bytes that are no message: link closed");
  peer_gone(link.peer(), errc::peer_lost);
}

void engine_core::peer_gone(int peer, errc why) {
  if (links_.at(peer).state == link_state::gone) return;
  patience_.erase(peer);
  links_.drop(peer);
  if (why == errc::peer_lost && noticed_gone_[static_cast<std::size_t>(peer)] == errc::peer_left) why = errc::peer_left;
  if (why == errc::peer_lost && life_ == life::joined)
    log(log_level::warning, "rank " + std::to_string(peer) + " is lost");
  endpoint_->on_peer_gone(peer, why, actions_);
  perform();
}

// ---- what the protocol wants done

// An action may make the endpoint decide more, which comes after all that it had decided.
void engine_core::perform() {
  if (performing_) return;
  performing_ = true;
  while (!actions_.empty()) {
    performed_.swap(actions_);
    for (action& next : performed_) perform(next);
    performed_.clear();
  }
  performing_ = false;
}

void engine_core::perform(action& next) {
  operation_record& record = records_[slot_of(next.operation)];
  switch (next.type) {
    case action_type::transmit:
      return transmit(next);
    case action_type::take_payload:
      expect(record, arriving_payload_.size());
      record.cursor.write(arriving_payload_.data(), arriving_payload_.size());
      return;
    case action_type::keep_payload:
      std::ranges::copy(arriving_payload_, kept_.keep(next.message, arriving_payload_.size()).begin());
      return;
    case action_type::drop_payload:
      return;
    case action_type::use_kept: {
      const std::span<const std::byte> kept = kept_.of(next.message);
      expect(record, kept.size());
      record.cursor.write(kept.data(), kept.size());
      return kept_.drop(next.message);
    }
    case action_type::drop_kept:
      return kept_.drop(next.message);
    case action_type::keep_local: {
      const std::span<std::byte> kept = kept_.keep(next.message, record.total_bytes());
      memory_cursor(record.pieces).read(kept.data(), kept.size());
      return;
    }
    case action_type::copy_local: {
      operation_record& target = records_[slot_of(next.other)];
      expect(target, next.bytes);
      return copy_message(record.pieces, next.offset, target.pieces, next.bytes);
    }
    case action_type::expect_stream:
      if (next.peer < 0) return record.make_room(next.bytes);
      links_.expect_raw(next.peer);
      return expect(record, next.bytes);
    case action_type::start_stream: {
      memory_cursor from(record.pieces);
      from.advance(next.offset);
      return links_.stream(next.peer, next.operation, next.other, from, next.bytes);
    }
    case action_type::publish: {
      // What lies before the offset is the frame of the objects, which is the first piece.
      const std::span<const memory_piece> pieces = record.pieces;
      return transfers_.publish(next.operation, next.peer, {pieces.subspan(next.offset == 0 ? 0 : 1), record.memory});
    }
    case action_type::held:
      return hold(next);
    case action_type::revoke:
      if (transfers_.revoke(next.operation)) return endpoint_->revoked(next.operation, next.code, actions_);
      return endpoint_->revoke_refused(next.operation);
    case action_type::unpublish:
      (void)transfers_.revoke(next.operation);
      return;
    case action_type::report_match:
      return report(log_message::match, next.match);
    case action_type::ask_back:
      return report(log_message::withdraw_match, next.match);
    case action_type::complete:
      return complete(next);
    case action_type::report_late:
      return ready_.push(late_failure{next.code, std::move(next.details)});
  }
}

void engine_core::transmit(const action& next) {
  const auto body = protocol::body_bytes(next);
  const std::string& text = next.details.reason;
  const memory_piece reason{reinterpret_cast<std::byte*>(const_cast<char*>(text.data())), text.size()};
  const bool has_payload = next.operation != 0;
  const std::span<const memory_piece> behind =
      has_payload ? std::span<const memory_piece>(records_[slot_of(next.operation)].pieces) : std::span(&reason, 1);
  const bool must_dial =
      links_.send(next.peer, static_cast<std::uint8_t>(next.message_kind), body, memory_cursor(behind),
                  has_payload ? next.body.announce.payload_bytes() : text.size());
  if (must_dial) dial(next.peer);
}

void engine_core::report(log_message what, const protocol::match& found) {
  if (!report_link_) return;  // ended
  report_link_->append(static_cast<std::uint8_t>(what), match_body{.through_pair = found.route == route::pair,
                                                                   .reserved = {},
                                                                   .source = found.source,
                                                                   .destination = found.destination,
                                                                   .reserved_too = 0,
                                                                   .send = found.send,
                                                                   .receive = found.receive,
                                                                   .bytes = found.bytes,
                                                                   .group = found.group});
  report_dirty_ = true;
}

void engine_core::count(const action& ended) {
  const bool sending = ended.details.operation == operation_kind::send;
  traffic& total = sending ? stats_.sent[static_cast<std::size_t>(ended.route)] : stats_.received;
  ++total.messages;
  total.bytes += ended.details.here.bytes;
}

void engine_core::complete(action& next) {
  operation_record& record = records_[slot_of(next.operation)];
  if (protocol::uses_log(next.route)) (void)transfers_.revoke(next.operation);
  deadlines_.remove(slot_of(next.operation));
  if (!next.code && !record.is_discarded) count(next);
  outcome result{.details = std::move(next.details)};
  see_from(*record.group, result.details);
  if (!record.is_ready() && chores_->forget(next.operation, next_delivery_))
    return finish_later(record, next.code, std::move(result));
  const bool receiving = result.details.operation == operation_kind::receive;
  if (receiving && record.is_staged() && !next.code) return deliver(record, std::move(result));
  const bool receives_objects = record.kind == payload_kind::objects && receiving;
  if (receives_objects)
    result.frame = std::move(record.frame);
  else
    keep_frame(std::move(record.frame));
  if (record.is_held) {
    held_ends_[next.operation] = {next.code, std::move(result)};
  } else if (record.waiter != nullptr) {
    record.waiter->operation = 0;
    ready_.push(finished_operation{record.waiter, next.code, std::move(result)});
  }
  record.clear();
}

communicator_stats engine_core::stats() {
  const std::lock_guard lock(mutex_);
  communicator_stats now = stats_;
  now.open_links = links_.open_count();
  now.unmatched = endpoint_ ? endpoint_->unmatched_messages() : 0;
  return now;
}

}  // namespace weft::detail
