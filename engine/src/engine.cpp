// SPDX-License-Identifier: Apache-2.0
#include "engine_core.hpp"

#include <weft/engine/engine.hpp>
#include <weft/engine/error.hpp>

namespace weft {
namespace detail {

void refuse_start() {
  throw error(
      errc::already_started,
      "an operation was started that had been started or moved from before, or whose communicator belongs to no "
      "group: make one operation for each co_await or call");
}
void start(engine_core& core, std::span<operation_request> requests) {
  core.start(requests);
}
void resume(engine_core& core, std::uint64_t held, operation_request request) {
  core.resume(held, request);
}
void refuse(engine_core& core, std::uint64_t held, waiter* who, errc code, std::string reason) {
  core.refuse_held(held, who, code, std::move(reason));
}
void discard(engine_core& core, std::uint64_t held) {
  core.discard_held(held);
}
std::shared_ptr<device_block> allocate(engine_core& core, std::size_t bytes, element_type element) {
  return core.allocate(bytes, element);
}
void cancel(engine_core& core, waiter& who, boost::asio::cancellation_type kinds) noexcept {
  core.cancel(who, kinds);
}
void abandon(engine_core& core, waiter& who) noexcept {
  core.abandon(who);
}
void complete_soon(engine_core& core, waiter& who, boost::system::error_code code, operation_details details) {
  core.complete_soon(who, code, std::move(details));
}
void start_reserve(engine_core& core, waiter& who, const group& within, std::span<const int> peers) {
  core.start_reserve(who, within, peers);
}
void cancel_reserve(engine_core& core, waiter& who) noexcept {
  core.end_reserve_wait(who, true);
}
void abandon_reserve(engine_core& core, waiter& who) noexcept {
  core.end_reserve_wait(who, false);
}
void start_split(engine_core& core, waiter& who, const group& parent, int color, int key) {
  core.start_split(who, parent, color, key);
}
void cancel_split(engine_core& core, waiter& who) noexcept {
  core.end_split_wait(who, true);
}
void abandon_split(engine_core& core, waiter& who) noexcept {
  core.end_split_wait(who, false);
}
const engine_options& options_of(const engine_core& core) noexcept {
  return core.options();
}
void count_segments(engine_core& core, std::uint64_t landed, std::uint64_t copied) noexcept {
  core.count_segments(landed, copied);
}
void start_lease(engine_core& core, waiter& who, const group& within) {
  core.start_lease(who, within);
}
void cancel_lease(engine_core& core, waiter& who) noexcept {
  core.end_lease_wait(who, true);
}
void abandon_lease(engine_core& core, waiter& who) noexcept {
  core.end_lease_wait(who, false);
}
communicator_stats stats(engine_core& core) {
  return core.stats();
}
std::string_view device_name(const engine_core& core) noexcept {
  return core.device_name();
}
const boost::asio::any_io_executor& executor(const engine_core& core) noexcept {
  return core.executor();
}
serializers::byte_buffer take_frame(engine_core& core) {
  return core.take_frame();
}
void return_frame(engine_core& core, serializers::byte_buffer frame) noexcept {
  core.return_frame(std::move(frame));
}

}  // namespace detail

engine::engine(boost::asio::any_io_executor executor, engine_options options)
    : core_(std::make_shared<detail::engine_core>(std::move(executor), std::move(options))) {}

engine::engine(engine&&) noexcept = default;

engine::~engine() {
  if (core_) core_->stop();
}

boost::asio::awaitable<communicator> engine::join() {
  const auto core = core_;
  co_await core->join();
  co_return communicator(detail::place{core, &core->root()});
}

boost::asio::awaitable<void> engine::close() {
  const auto core = core_;
  co_await core->close();
}

}  // namespace weft
