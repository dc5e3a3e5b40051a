// SPDX-License-Identifier: Apache-2.0
#include "executor/launch_thread.hpp"

#include "executor/polling_pause.hpp"
#include "link/rehome.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

namespace weft::detail {
namespace {

// How long a rank that leaves waits for the sequencer to hear it, and for its communicators to be destroyed.
constexpr std::chrono::seconds leave_timeout{5};

std::string describe_set_up(const protocol::log_entry& entry) {
  const std::string communicator = "communicator " + std::to_string(entry.communicator);
  if (const auto* direction = std::get_if<protocol::connect>(&entry.content))
    return "connecting rank " + std::to_string(direction->source) + " to rank " +
           std::to_string(direction->destination) + " on " + communicator;
  return (std::holds_alternative<protocol::create>(entry.content) ? "creating " : "destroying ") + communicator;
}

// Codes are named after what they mean to a transfer.
std::string describe_failure(const protocol::log_entry& entry, boost::system::error_code code) {
  std::string why = code.message();
  if (code == errc::timed_out) why = "it took longer than set_up_timeout";
  if (code == errc::transfer_aborted) why = "it was given up, because the communicator is aborted";
  if (code == errc::set_up_failed) why = "the device could not carry it out";
  return describe_set_up(entry) + " failed: " + why;
}

}  // namespace

launch_thread::launch_thread(const device_factory& make_device, std::chrono::milliseconds set_up_timeout,
                             std::chrono::nanoseconds launch_timeout, transfer_table& transfers, launch_events& events)
    : set_up_timeout_(set_up_timeout),
      launch_timeout_(launch_timeout),
      transfers_(transfers),
      events_(events),
      device_(make_device(context_, *this)),
      desk_(std::make_shared<launch_desk>([this] { boost::asio::post(context_, [this] { end_lease(); }); })) {}

launch_thread::~launch_thread() {
  stop();
}

void launch_thread::start(stream_socket log, std::vector<std::string> device_cards, int self,
                          std::uint64_t incarnation) {
  self_ = self;
  ranks_ = static_cast<int>(device_cards.size());
  follower_.emplace(self);
  device_->set_peers(std::move(device_cards), self, incarnation);
  log_ = std::make_shared<message_link>(rehome(std::move(log), context_.get_executor()), 0,
                                        static_cast<link_owner&>(*this), nullptr);
  log_->start();
  thread_ = std::thread([this] { run(); });
}

// A device whose ends must be looked for is looked at again and again while something is under way: at first at once,
// for the many transfers that take some microseconds; then giving way to others; then rarely.
void launch_thread::run() {
  device_->enter_thread();
  polling_pause pause;
  while (!context_.stopped()) {
    if (!device_->needs_polling()) {
      context_.run_one();
      pause.reset();
      continue;
    }
    const bool heard = context_.poll() != 0;
    if (device_->poll() || heard)
      pause.reset();
    else if (const auto rest = pause.next())
      context_.run_one_for(*rest);
  }
}

void launch_thread::look_at_chores() {
  boost::asio::post(context_, [] {});
}

void launch_thread::on_chore_done(std::uint64_t name, boost::system::error_code code) {
  tell({.what = launch_news::kind::chore_done, .operation = name, .code = code});
}

void launch_thread::leave() {
  boost::asio::post(context_, [this] {
    if (!log_->is_open()) return left();
    leaving_ = true;
    log_->append(static_cast<std::uint8_t>(log_message::leaving), leaving_body{});
    log_->flush();
    leave_deadline_.expires_after(leave_timeout);
    leave_deadline_.async_wait([this](const boost::system::error_code& code) {
      if (!code) left();
    });
  });
}

// Others may need this rank for what the log still had for it: to create a communicator takes all of its members.
void launch_thread::leave_if_idle() {
  if (log_ended_ && follower_->is_idle()) left();
}

void launch_thread::left() {
  leave_deadline_.cancel();
  tell({.what = launch_news::kind::left});
}

void launch_thread::stop() {
  desk_->close();
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
  if (what == log_message::log_end) {
    log_ended_ = true;
    leave_if_idle();
    return true;
  }
  if (what == log_message::rank_gone) {
    const auto gone = protocol::parse<rank_gone_body>(body);
    if (!gone || gone->rank < 0 || gone->rank >= ranks_) return false;
    rank_gone(gone->rank, gone->left == 1);
  } else if (what == log_message::identity) {
    const auto shown = protocol::parse<unique_id_body>(body);
    if (!shown) return false;
    unique_ids_[shown->communicator] = shown->id;
    follower_->identity_arrived(shown->communicator);
  } else {
    auto entry = decode(what, body);
    if (!entry || !concerns(*entry, self_, ranks_) || !follow(std::move(*entry))) return false;
  }
  advance();
  return true;
}

bool launch_thread::follow(protocol::log_entry entry) {
  if (!std::holds_alternative<protocol::abort>(entry.content)) {
    if (!follower_->is_next(entry)) return false;
    follower_->append(std::move(entry));
    return true;
  }
  follower_->failed_elsewhere(entry.communicator, errc::transfer_aborted);
  release_ends(entry.communicator);
  report_gone(entry.communicator);
  device_->abort(entry.communicator, errc::transfer_aborted);
  return true;
}

void launch_thread::on_link_closed(message_link&, boost::system::error_code) {
  if (leaving_) {  // the sequencer has heard it: this was the end of the log
    log_ended_ = true;
    return leave_if_idle();
  }
  // Without the log nobody can say any more what the other end of a batch does.
  for (auto& [communicator, ends] : std::exchange(held_ends_, {}))
    for (launch_news& end : ends) tell(std::move(end));
  tell({.what = launch_news::kind::log_lost});
  follower_->clear();
  device_->abort_all(errc::transfer_aborted);
  rank_gone(0, false);
}

void launch_thread::rank_gone(int rank, bool left) {
  const errc why = left ? errc::peer_left : errc::peer_lost;
  follower_->rank_gone(rank, why);
  device_->on_rank_gone(rank, why);
  tell({.what = launch_news::kind::rank_gone, .rank = rank, .why = why});
}

void launch_thread::advance() {
  while (const auto entry = follower_->next()) {
    const communicator_id on = entry->communicator;
    if (const auto* creation = std::get_if<protocol::create>(&entry->content)) {
      create(on, *creation);
    } else if (const auto* direction = std::get_if<protocol::connect>(&entry->content)) {
      begin_set_up();
      device_->connect(on, direction->source, direction->destination);
    } else if (const auto* batch = std::get_if<protocol::batch>(&entry->content)) {
      issue(on, entry->number, *batch);
    } else if (const auto* lease = std::get_if<protocol::lease>(&entry->content)) {
      lend(*lease);
    } else {
      begin_set_up();
      unique_ids_.erase(on);
      report_gone(on);
      device_->destroy(on);
    }
  }
  report_failures();
  leave_if_idle();
}

void launch_thread::report_failures() {
  for (const communicator_id failed : follower_->take_failures()) {
    report_gone(failed);
    if (log_->is_open()) log_->append(static_cast<std::uint8_t>(log_message::failed), communicator_body{0, failed, 0});
  }
}

// ---- set-ups

void launch_thread::create(communicator_id communicator, const protocol::create& what) {
  auto id = unique_ids_.find(communicator);
  if (id == unique_ids_.end()) {  // this rank is the one that makes it
    id = unique_ids_.emplace(communicator, device_->make_unique_id()).first;
    log_->append(static_cast<std::uint8_t>(log_message::identity), unique_id_body{communicator, 0, id->second});
  }
  begin_set_up();
  device_->create(communicator, what.members, id->second);
}

void launch_thread::begin_set_up() {
  set_up_deadline_.expires_after(set_up_timeout_);
  set_up_deadline_.async_wait([this](const boost::system::error_code& code) {
    if (!code) device_->abort_set_up(errc::timed_out);
  });
}

void launch_thread::on_set_up(boost::system::error_code code) {
  set_up_deadline_.cancel();
  const protocol::log_entry entry = follower_->set_up_ended(code);
  if (code)
    tell({.what = launch_news::kind::problem, .text = describe_failure(entry, code)});
  else if (const auto* creation = std::get_if<protocol::create>(&entry.content))
    report_opened(entry.communicator, *creation);
  if (std::holds_alternative<protocol::evict>(entry.content)) report_finished(entry.number);
  advance();
  flush();
}

void launch_thread::report_gone(communicator_id communicator) {
  const auto pair = open_pairs_.extract(communicator);
  if (!pair.empty()) tell({.what = launch_news::kind::pair_gone, .rank = pair.mapped()});
}

void launch_thread::report_opened(communicator_id communicator, const protocol::create& what) {
  const int low = what.members.front();
  const int high = what.members.back();
  std::string members = "the pair " + std::to_string(low) + ":" + std::to_string(high);
  const bool is_pair = what.kind == protocol::communicator_kind::pair;
  if (!is_pair) members = "the group of " + std::to_string(what.members.size());
  if (is_pair) open_pairs_[communicator] = low == self_ ? high : low;
  tell({.what = is_pair ? launch_news::kind::pair_opened : launch_news::kind::group_opened,
        .rank = low == self_ ? high : low,
        .text = "opened the communicator of " + members + " on the " + std::string(device_->name()) + " device"});
}

// ---- leases

void launch_thread::lend(const protocol::lease& what) {
  lent_to_ = what.wish;
  device_->lend();
}

void launch_thread::on_lent() {
  tell({.what = launch_news::kind::leased, .operation = lent_to_});
}

void launch_thread::end_lease() {
  device_->take_back();
  follower_->lease_ended();
  advance();
  flush();
}

// ---- batches

void launch_thread::issue(communicator_id communicator, group_id number, const protocol::batch& what) {
  group_.clear();
  // Also where nothing is left to transfer: the end of the batch is reported.
  launched_batch& launched = launched_[number];
  launched.communicator = communicator;
  for (const protocol::transfer& one : what.transfers) {
    if (one.source == self_) add_transfer(communicator, number, one, true);
    if (one.destination == self_) add_transfer(communicator, number, one, false);
  }
  device_->issue(communicator, number, group_);
  tell({.what = launch_news::kind::batch_issued});
  watch_launch(launched);
}

void launch_thread::add_transfer(communicator_id communicator, group_id number, const protocol::transfer& one,
                                 bool sending) {
  const protocol::operation_id id = sending ? one.send : one.receive;
  const int peer = sending ? one.destination : one.source;
  const auto memory = transfers_.take(id, peer);
  if (!memory) {
    // Withdrawn here because the engine closes or the peer is gone, or never meant for it: the other end must not wait.
    if (peer != self_) device_->refuse(communicator, peer, sending);
    return;
  }
  // Who receives says how long a message is: not even then may it be longer than its memory.
  if (memory->bytes() < one.bytes) {
    if (peer != self_) device_->refuse(communicator, peer, sending);
    return tell_end(communicator, id, errc::transfer_aborted);
  }
  if (const auto absence = follower_->absence(peer, number)) {
    tell({.what = launch_news::kind::transferred, .operation = id, .code = *absence});
    return;
  }
  if (const auto failure = follower_->failure_for(communicator, peer)) return tell_end(communicator, id, *failure);
  group_.push_back({peer, sending, one.bytes, *memory});
  launched_[number].operations.push_back(id);
}

void launch_thread::on_group_done(communicator_id communicator, group_id group,
                                  std::span<const boost::system::error_code> codes) {
  const auto node = launched_.extract(group);
  for (std::size_t i = 0; i < codes.size(); ++i) tell_end(communicator, node.mapped().operations[i], codes[i]);
  follower_->batch_ended(communicator);
  report_finished(group);
  advance();
  flush();
}

void launch_thread::on_communicator_failed(communicator_id communicator, boost::system::error_code code,
                                           std::string why) {
  tell({.what = launch_news::kind::problem,
        .text = "communicator " + std::to_string(communicator) + " failed: " + std::move(why)});
  follower_->failed_here(communicator, code);
  advance();
  flush();
}

// Whoever hears that a transfer has failed may try again at once. So it is told only when the sequencer has let all
// ranks know that the communicator has failed: what is matched later takes another one.
void launch_thread::tell_end(communicator_id communicator, protocol::operation_id id, boost::system::error_code code) {
  launch_news end{.what = launch_news::kind::transferred, .operation = id, .code = code};
  const bool is_news = follower_->failure_of(communicator) != nullptr && !known_failed_.contains(communicator);
  if (is_news && log_->is_open())
    held_ends_[communicator].push_back(std::move(end));
  else
    tell(std::move(end));
}

void launch_thread::release_ends(communicator_id communicator) {
  known_failed_.insert(communicator);
  auto held = held_ends_.extract(communicator);
  if (held.empty()) return;
  for (launch_news& end : held.mapped()) tell(std::move(end));
}

void launch_thread::report_finished(std::uint64_t entry) {
  if (log_->is_open()) log_->append(static_cast<std::uint8_t>(log_message::finished), finished_body{entry});
}

// ---- batches that do not end

void launch_thread::watch_launch(launched_batch& launched) {
  const auto now = clock::now();
  if (launch_timeout_ >= clock::time_point::max() - now) return;  // no_limit, or centuries
  launched.deadline = now + launch_timeout_;
  if (!watching_) await_launch_deadline();
}

// Most batches end in time, so the timer looks again when it fires. There are a few batches at a time: a search will
// do.
void launch_thread::await_launch_deadline() {
  const auto earlier = [](const auto& a, const auto& b) { return a.second.deadline < b.second.deadline; };
  const auto first = std::min_element(launched_.begin(), launched_.end(), earlier);
  watching_ = first != launched_.end() && first->second.deadline != clock::time_point::max();
  if (!watching_) return;
  launch_deadline_.expires_at(first->second.deadline);
  launch_deadline_.async_wait([this](const boost::system::error_code&) {
    (void)device_->poll();  // what has ended, but was not reported yet, is not late
    abort_late_launches();
    await_launch_deadline();
  });
}

// The ends of what was aborted are reported by the device, as those of any other batch.
void launch_thread::abort_late_launches() {
  const auto now = clock::now();
  for (auto& [number, batch] : launched_) {
    if (batch.deadline > now) continue;
    batch.deadline = clock::time_point::max();
    if (follower_->failure_of(batch.communicator) != nullptr) continue;
    tell({.what = launch_news::kind::problem,
          .text = "communicator " + std::to_string(batch.communicator) +
                  " is aborted: a batch of it was under way for longer than launch_timeout"});
    follower_->failed_here(batch.communicator, errc::transfer_aborted);
    device_->abort(batch.communicator, errc::transfer_aborted);
  }
  report_failures();
  flush();
}

}  // namespace weft::detail
