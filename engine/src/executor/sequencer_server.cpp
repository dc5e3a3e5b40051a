// SPDX-License-Identifier: Apache-2.0
#include "executor/sequencer_server.hpp"

#include <utility>

namespace weft::detail {

sequencer_server::sequencer_server(const listening_options& listening, int ranks,
                                   const protocol::sequencer_limits& limits, std::function<void()> all_gone)
    : listening_(context_.get_executor(), listening,
                 {.admit = [this](const hello& from) { return admit(from); },
                  .accepted = [this](const hello& from, stream_socket socket) { accept(from, std::move(socket)); }}),
      all_gone_(std::move(all_gone)),
      ranks_(static_cast<std::size_t>(ranks)),
      desk_(ranks, limits, *this) {}

sequencer_server::~sequencer_server() {
  stop();
}

void sequencer_server::start(std::vector<std::uint64_t> incarnations) {
  incarnations_ = std::move(incarnations);
  thread_ = std::thread([this] { context_.run(); });
}

void sequencer_server::stop() {
  if (!thread_.joinable()) return;
  context_.stop();
  thread_.join();
}

verdict sequencer_server::admit(const hello& from) const {
  if (from.purpose != purpose::log && from.purpose != purpose::report) return verdict::wrong_purpose;
  if (from.from < 0 || from.from >= static_cast<int>(ranks_.size())) return verdict::wrong_rank;
  const auto rank = static_cast<std::size_t>(from.from);
  return from.incarnation == incarnations_[rank] && !desk_.is_gone(from.from) ? verdict::accepted
                                                                              : verdict::unknown_incarnation;
}

void sequencer_server::accept(const hello& from, stream_socket socket) {
  rank_state& rank = ranks_[static_cast<std::size_t>(from.from)];
  auto link = std::make_shared<message_link>(std::move(socket), from.from, static_cast<link_owner&>(*this), nullptr);
  auto& place = from.purpose == purpose::log ? rank.log : rank.report;
  place = link;
  if (from.purpose == purpose::log) link->adopt(std::exchange(rank.backlog, {}));
  link->start();
  link->flush();
}

void sequencer_server::end_turn() {
  for (const rank_state& rank : ranks_)
    if (rank.log && rank.log->has_output()) rank.log->flush();
}

bool sequencer_server::on_message(message_link& link, std::uint8_t type, std::span<const std::byte> body) {
  const auto what = static_cast<log_message>(type);
  if (!desk_.on_message(link.peer(), what, body)) return false;
  if (what == log_message::leaving) {
    link.flush();
    look_around();
  }
  return true;
}

// The engine's link may end before: what the launch thread has to say still counts.
void sequencer_server::on_link_closed(message_link& link, boost::system::error_code) {
  if (ranks_[static_cast<std::size_t>(link.peer())].log.get() != &link) return;
  desk_.rank_lost(link.peer());
  look_around();
}

void sequencer_server::look_around() {
  if (desk_.is_deserted() && !std::exchange(has_told_, true)) all_gone_();
}

void sequencer_server::send_to_log(int rank, log_message type, std::span<const std::byte> body) {
  rank_state& state = ranks_[static_cast<std::size_t>(rank)];
  if (state.log)
    state.log->append_bytes(static_cast<std::uint8_t>(type), body);
  else
    append_message(state.backlog, static_cast<std::uint8_t>(type), body);
}

void sequencer_server::send_to_engine(int rank, log_message type, std::span<const std::byte> body) {
  const auto& link = ranks_[static_cast<std::size_t>(rank)].report;
  if (!link || !link->is_open()) return;
  link->append_bytes(static_cast<std::uint8_t>(type), body);
  link->flush();
}

}  // namespace weft::detail
