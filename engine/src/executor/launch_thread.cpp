// SPDX-License-Identifier: Apache-2.0
#include "executor/launch_thread.hpp"

#include "link/rehome.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <utility>

namespace weft::detail {
namespace {

// How long a rank that leaves waits for the sequencer to hear it: some retransmissions of a lost packet.
constexpr std::chrono::seconds leave_timeout{1};

}  // namespace

launch_thread::launch_thread(const listening_options& listening, std::chrono::milliseconds set_up_timeout,
                             transfer_table& transfers, launch_events& events)
    : set_up_timeout_(set_up_timeout),
      transfers_(transfers),
      events_(events),
      device_(context_, *this, listening, set_up_timeout) {}

launch_thread::~launch_thread() {
  stop();
}

void launch_thread::start(stream_socket log, std::vector<std::string> device_cards, int self,
                          std::uint64_t incarnation) {
  self_ = self;
  device_.set_peers(std::move(device_cards), self, incarnation);
  log_ = std::make_shared<message_link>(rehome(std::move(log), context_.get_executor()), 0,
                                        static_cast<link_owner&>(*this), nullptr);
  log_->start();
  thread_ = std::thread([this] { context_.run(); });
}

void launch_thread::leave() {
  if (!thread_.joinable()) return;
  boost::asio::post(context_, [this] {
    if (!log_->is_open()) return context_.stop();
    leaving_ = true;
    log_->append(static_cast<std::uint8_t>(log_message::leaving), leaving_body{});
    log_->flush();
    leave_deadline_.expires_after(leave_timeout);
    leave_deadline_.async_wait([this](const boost::system::error_code& code) {
      if (!code) context_.stop();
    });
  });
  thread_.join();
}

void launch_thread::stop() {
  if (!thread_.joinable()) return;
  context_.stop();
  thread_.join();
}

std::vector<launch_news> launch_thread::take_news() {
  const std::lock_guard lock(news_mutex_);
  return std::exchange(news_, {});
}

void launch_thread::tell(launch_news news) {
  bool first = false;
  {
    const std::lock_guard lock(news_mutex_);
    first = news_.empty();
    news_.push_back(std::move(news));
  }
  // Whoever takes the news takes all of it: one wake-up for many completions.
  if (first) events_.on_launch_news();
}

void launch_thread::flush() {
  if (log_ && log_->is_open()) log_->flush();
}

// ---- the log

bool launch_thread::on_message(message_link&, std::uint8_t type, std::span<const std::byte> body) {
  const auto what = static_cast<log_message>(type);
  if (what == log_message::rank_gone) {
    const auto gone = protocol::parse<rank_gone_body>(body);
    if (!gone) return false;
    rank_gone(gone->rank, gone->left == 1);
  } else if (what == log_message::identity) {
    const auto shown = protocol::parse<unique_id_body>(body);
    if (!shown) return false;
    unique_ids_[shown->communicator] = shown->id;
  } else {
    auto entry = decode(what, body);
    if (!entry) return false;
    entries_.push_back(std::move(*entry));
  }
  advance();
  return true;
}

void launch_thread::on_link_closed(message_link&, boost::system::error_code) {
  if (leaving_) return context_.stop();  // the sequencer has heard it
  // Without the log nobody can say any more what the other end of a batch does.
  tell({.what = launch_news::kind::log_lost});
  entries_.clear();
  device_.abort_all(errc::transfer_aborted);
  rank_gone(0, false);
}

void launch_thread::rank_gone(int rank, bool left) {
  const errc why = left ? errc::peer_left : errc::peer_lost;
  gone_.emplace(rank, why);
  device_.on_rank_gone(rank, why);
  tell({.what = launch_news::kind::rank_gone, .rank = rank, .why = why});
}

void launch_thread::advance() {
  while (!entries_.empty() && !setting_up_) {
    if (!carry_out(entries_.front())) return;
    if (!setting_up_) entries_.pop_front();
  }
}

bool launch_thread::carry_out(const launch_entry& entry) {
  switch (entry.type) {
    case log_message::create:
      return create(entry);
    case log_message::connect:
      if (failed_.contains(entry.communicator)) return true;
      begin_set_up();
      device_.connect(entry.communicator, entry.source, entry.destination);
      return true;
    default:
      return issue(entry);
  }
}

// ---- set-ups

bool launch_thread::create(const launch_entry& entry) {
  const bool root = entry.members.front() == self_;
  auto id = unique_ids_.find(entry.communicator);
  if (id == unique_ids_.end()) {
    const auto gone = gone_.find(entry.members.front());
    if (!root && gone == gone_.end()) return false;  // it is on its way
    if (!root) {
      failed_[entry.communicator] = gone->second;  // nobody is left to make one
      return true;
    }
    id = unique_ids_.emplace(entry.communicator, device_.make_unique_id()).first;
    log_->append(static_cast<std::uint8_t>(log_message::identity), unique_id_body{entry.communicator, 0, id->second});
  }
  begin_set_up();
  device_.create(entry.communicator, entry.members, id->second);
  return true;
}

void launch_thread::begin_set_up() {
  setting_up_ = true;
  set_up_deadline_.expires_after(set_up_timeout_);
  set_up_deadline_.async_wait([this](const boost::system::error_code& code) {
    if (!code) device_.abort_set_up(errc::timed_out);
  });
}

void launch_thread::on_set_up(boost::system::error_code code) {
  set_up_deadline_.cancel();
  setting_up_ = false;
  if (entries_.empty()) return;  // the log was lost meanwhile
  const launch_entry entry = std::move(entries_.front());
  entries_.pop_front();
  if (code) {
    tell({.what = launch_news::kind::problem,
          .text = "set-up of communicator " + std::to_string(entry.communicator) + " failed: " + code.message()});
    if (entry.type == log_message::create) failed_[entry.communicator] = code;
  } else if (entry.type == log_message::create) {
    report_opened(entry);
  }
  advance();
  flush();
}

void launch_thread::report_opened(const launch_entry& entry) {
  if (!entry.is_pair) {
    tell({.what = launch_news::kind::group_opened,
          .text = "opened the communicator of the group of " + std::to_string(entry.members.size()) + " on the " +
                  std::string(device_.name()) + " device"});
    return;
  }
  const int other = entry.members.front() == self_ ? entry.members.back() : entry.members.front();
  tell({.what = launch_news::kind::pair_opened,
        .rank = other,
        .text = "opened the communicator of the pair " + std::to_string(entry.members.front()) + ":" +
                std::to_string(entry.members.back()) + " on the " + std::string(device_.name()) + " device"});
}

// ---- batches

bool launch_thread::issue(const launch_entry& entry) {
  if (!gate_.may_issue(entry.communicator)) return false;
  group_.clear();
  launched_[entry.number].clear();  // also where nothing is left to transfer: the end of the batch is reported
  for (const batch_operation_body& operation : entry.operations) {
    if (operation.source == self_) add_transfer(entry, operation, true);
    if (operation.destination == self_) add_transfer(entry, operation, false);
  }
  gate_.issued(entry.communicator);
  device_.issue(entry.communicator, entry.number, group_);
  tell({.what = launch_news::kind::batch_issued});
  return true;
}

void launch_thread::add_transfer(const launch_entry& entry, const batch_operation_body& operation, bool sending) {
  const protocol::operation_id id = sending ? operation.send : operation.receive;
  const int peer = sending ? operation.destination : operation.source;
  const auto memory = transfers_.take(id);
  if (!memory) {
    // Withdrawn here because the engine closes or the peer is gone: the other end must not wait for it.
    if (peer != self_) device_.refuse(entry.communicator, peer, sending);
    return;
  }
  if (const auto failed = failed_.find(entry.communicator); failed != failed_.end()) {
    tell({.what = launch_news::kind::transferred, .operation = id, .code = failed->second});
    return;
  }
  group_.push_back({peer, sending, operation.bytes, *memory});
  launched_[entry.number].push_back(id);
}

void launch_thread::on_group_done(communicator_id communicator, group_id group,
                                  std::span<const boost::system::error_code> codes) {
  const auto node = launched_.extract(group);
  for (std::size_t i = 0; i < codes.size(); ++i)
    tell({.what = launch_news::kind::transferred, .operation = node.mapped()[i], .code = codes[i]});
  gate_.finished(communicator);
  if (log_->is_open()) log_->append(static_cast<std::uint8_t>(log_message::finished), finished_body{group});
  advance();
  flush();
}

}  // namespace weft::detail
