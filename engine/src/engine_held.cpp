// SPDX-License-Identifier: Apache-2.0
// Receives that have a message and wait for their user: one who looks at it first, or one who makes room for the rest
// of an object after its head was read.
#include "engine_core.hpp"

#include "protocol/action_makers.hpp"

#include <weft/engine/detail/object_sources.hpp>

#include <utility>

namespace weft::detail {
namespace {

std::uint32_t slot_of(protocol::operation_id id) {
  return protocol::endpoint::slot_of(id);
}

}  // namespace

void engine_core::hold(protocol::action& next) {
  operation_record& record = records_[slot_of(next.operation)];

  next.details.peer = record.group->rank_of(next.details.peer);
  outcome result{.details = std::move(next.details), .frame = std::move(record.frame), .held = next.operation};
  waiter* const who = std::exchange(record.waiter, nullptr);
  record.is_held = true;
  // Who looks at a message takes as long as he likes, and what was to be waited for has happened.
  if (std::exchange(record.examines, false)) {
    deadlines_.remove(slot_of(next.operation));
    who->operation = 0;
  }
  ready_.push(finished_operation{who, {}, std::move(result)});
}

// Once: what happened to the operation meanwhile is told now.
template <class Decision>
void engine_core::decide(std::uint64_t held, waiter* who, Decision decision) {
  const std::lock_guard lock(mutex_);
  if (auto ended = held_ends_.extract(held)) {
    end_of_held& end = ended.mapped();
    if (who != nullptr) {
      who->operation = 0;
      ready_.push(finished_operation{who, end.code, std::move(end.result)});
    }
  } else {
    operation_record& record = records_[slot_of(held)];
    record.is_held = false;
    record.waiter = who;
    if (who != nullptr) who->operation = held;
    decision(record);
    perform();
  }
  schedule();
}

void engine_core::resume(std::uint64_t held, operation_request& request) {
  operation_details details;
  if (const errc problem = check_memory(request, details); problem != errc{}) {
    refuse_held(held, nullptr, errc::refused, "the receiver has no memory for it: " + details.reason);
    return complete_soon(*request.waiter, problem, std::move(details));
  }
  decide(held, request.waiter, [&](operation_record& record) {
    record.resume(request);
    record.is_apart = chores_ && record.memory == memory_kind::device;
    (void)endpoint_->resume(held, details.here, actions_);
  });
}

void refuse_objects(engine_core& core, waiter& who, const destination& where, const std::exception& problem) {
  operation_details details;
  details.operation = operation_kind::send;
  details.peer = where.rank;
  details.tag = where.tag;
  details.here.kind = payload_kind::objects;
  details.reason = problem.what();
  core.complete_soon(who, errc::unserializable, std::move(details));
}

void tell_sender(const place& within, const operation_details& received, const boost::system::error_code& code) {
  within.core->tell_sender(*within.group, received, code);
}

void check_ahead(const serializers::limits& bounds, std::uint64_t bytes) {
  if (bytes > bounds.max_bytes_ahead)
    throw serializers::limit_exceeded(0, "max_bytes_ahead", bytes, bounds.max_bytes_ahead, "bytes that are to come");
}

void engine_core::refuse_held(std::uint64_t held, waiter* who, errc code, std::string reason) {
  decide(held, who, [&](operation_record&) { (void)endpoint_->refuse_held(held, code, std::move(reason), actions_); });
}

void engine_core::tell_sender(const group& within, const operation_details& received,
                              const boost::system::error_code& code) {
  const std::lock_guard lock(mutex_);
  const int source = within.members[static_cast<std::size_t>(received.peer)];
  if (source == rank()) return;  // who received knows
  // It names no operation, because that is over.
  protocol::transmit(actions_, source,
                     protocol::refused{.send = 0,
                                       .tag = received.tag,
                                       .code = static_cast<std::uint32_t>(code.value()),
                                       .sent_kind = received.here.kind,
                                       .sent_element = received.here.element,
                                       .wanted_kind = received.here.kind,
                                       .wanted_element = received.here.element,
                                       .sent_bytes = received.here.bytes,
                                       .wanted_bytes = received.here.bytes})
      .details.reason = received.reason.substr(0, protocol::refused::most_text);
  perform();
  schedule();
}

void engine_core::discard_held(std::uint64_t held) {
  decide(held, nullptr, [&](operation_record& record) {
    record.is_discarded = true;
    (void)endpoint_->discard_held(held, {}, actions_);
  });
}

}  // namespace weft::detail
