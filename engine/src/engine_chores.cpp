// SPDX-License-Identifier: Apache-2.0
// What a device does beside transfers: the end of work that operations wait for, and copies to and from memory that the
// host does not reach, for messages that travel by a link.
#include "engine_core.hpp"

#include "protocol/action_makers.hpp"

#include <utility>

namespace weft::detail {
namespace {

using protocol::operation_id;

std::uint32_t slot_of(operation_id id) {
  return protocol::endpoint::slot_of(id);
}

}  // namespace

// Before its start; the operation is ready, or `chore_done` makes it so.
errc engine_core::prepare(operation_id id, const operation_request& request, operation_details& details) {
  operation_record& record = records_[slot_of(id)];
  const bool sending = request.operation == operation_kind::send;
  const device_work& work = sending ? request.to.work : request.from.work;
  if (work.what != device_work::kind::none) {
    if (const errc problem = await_work(id, work, details); problem != errc{}) return problem;
    record.awaits_work = true;
  }
  record.is_apart = chores_ && record.memory == memory_kind::device;
  if (sending && record.is_apart && !protocol::uses_log(endpoint_->route_of(request.to, details.here))) {
    record.stage(record.total_bytes(), details.here.head);
    record.awaits_copy = true;
    if (!record.awaits_work) fetch(id);
  }
  return errc{};
}

errc engine_core::await_work(operation_id id, const device_work& work, operation_details& details) {
  if (details.here.kind == payload_kind::objects) {
    details.reason = "`after` is for buffers: await the stream before an operation on objects";
    return errc::invalid_option;
  }
  if (work.what == device_work::kind::event && work.handle == nullptr) {
    details.reason = "`after` got a null cudaEvent_t; give one that was recorded";
    return errc::invalid_option;
  }
  if (!chores_) {
    details.reason = "`after` needs the cuda device, and this engine uses the " + std::string(launch_->device_name()) +
                     " device; await the stream before";
    return errc::device_unavailable;
  }
  if (const auto code = chores_->watch(id, work)) {
    details.reason = "`after`: " + code.message();
    return errc::device_failed;
  }
  launch_->look_at_chores();
  return errc{};
}

void engine_core::fetch(operation_id id) {
  const operation_record& record = records_[slot_of(id)];
  chores_->copy(id, true, record.device_pieces, record.staged());
  launch_->look_at_chores();
}

// The message has arrived in memory of the host.
void engine_core::deliver(operation_record& record, outcome result) {
  chores_->copy(next_delivery_, false, std::move(record.device_pieces), std::move(record.pieces));
  launch_->look_at_chores();
  finish_later(record, {}, std::move(result));
}

// The operation is over, and its memory is not free yet: until the chore of the next delivery's name is done.
void engine_core::finish_later(operation_record& record, boost::system::error_code code, outcome result) {
  const std::uint64_t name = next_delivery_++;
  if (record.waiter != nullptr) record.waiter->operation = name;
  deliveries_[name] = {record.waiter, code, std::move(result), std::move(record.frame), std::move(record.owner)};
  record.clear();
}

void engine_core::end_delivery(std::uint64_t name, boost::system::error_code code) {
  auto ended = deliveries_.extract(name);
  delivery& what = ended.mapped();
  keep_frame(std::move(what.frame));
  if (what.who == nullptr) return;
  what.who->operation = 0;
  ready_.push(finished_operation{what.who, what.code ? what.code : code, std::move(what.result)});
}

void engine_core::chore_done(std::uint64_t name, boost::system::error_code code) {
  if (const auto delivered = deliveries_.find(name); delivered != deliveries_.end()) {
    if (code) delivered->second.result.details.reason = code.message();
    return end_delivery(name, code ? errc::device_failed : errc{});
  }
  if (!endpoint_->is_under_way(name)) return;
  operation_record& record = records_[slot_of(name)];
  if (code) {
    endpoint_->explain(name, code.message());
    return end_early(name, errc::device_failed, true);
  }
  if (std::exchange(record.awaits_work, false) && record.awaits_copy) return fetch(name);
  record.awaits_copy = false;
  endpoint_->make_ready(name, actions_);
}

}  // namespace weft::detail
