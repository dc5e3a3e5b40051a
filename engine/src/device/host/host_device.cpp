// SPDX-License-Identifier: Apache-2.0
#include "device/host/host_device.hpp"

#include <weft/engine/error.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>

#include <sodium/randombytes.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <limits>
#include <new>

namespace weft::detail {
namespace {

// For how long channels over shared memory are looked at before they sleep. With none, large messages go at half the
// speed, as if two launch threads that wake each other for every piece were put on one processor; with several times as
// much, messages of 1 MiB do, which need the processors for the loops (docs/performance.md).
constexpr std::chrono::microseconds watch_for{60};

/// Tells the communicators of one job apart, also one that replaced another of the same number.
std::uint64_t key_of(const unique_id& id) {
  std::uint64_t key = 0;
  std::memcpy(&key, id.data(), sizeof key);
  return key;
}

/// Ordinary memory.
class host_memory final : public device_memory {
 public:
  [[nodiscard]] std::byte* take(std::size_t bytes) override {
    // Rounded up to the alignment, such a size would wrap.
    if (bytes > static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max())) return nullptr;
    return static_cast<std::byte*>(::operator new(bytes, alignment, std::nothrow));
  }
  void give_back(std::byte* part) noexcept override { ::operator delete(part, alignment); }

 private:
  static constexpr std::align_val_t alignment{256};  // as cudaMalloc aligns
};

}  // namespace

std::shared_ptr<device_memory> host_device::memory() const {
  return std::make_shared<host_memory>();
}

host_device::host_device(boost::asio::io_context& context, device_events& events, const listening_options& listening,
                         host_options how)
    : context_(context),
      events_(events),
      how_(std::move(how)),
      listening_(context.get_executor(), listening,
                 {.admit =
                      [](const hello& from) {
                        return from.purpose == purpose::device ? verdict::accepted : verdict::wrong_purpose;
                      },
                  .accepted =
                      [this](const hello& from, stream_socket socket) {
                        early_.insert_or_assign({from.from, from.argument}, std::nullopt);
                        boost::asio::co_spawn(context_, take_connection(from.from, from.argument, std::move(socket)),
                                              boost::asio::detached);
                      }}) {}

host_device::~host_device() = default;

void host_device::set_peers(std::vector<std::string> cards, int self, std::uint64_t incarnation) {
  cards_ = std::move(cards);
  self_ = self;
  incarnation_ = incarnation;
}

unique_id host_device::make_unique_id() {
  unique_id id{};
  ::randombytes_buf(id.data(), id.size());
  return id;
}

boost::system::error_code host_device::gone(int rank) const {
  const auto found = gone_.find(rank);
  return found == gone_.end() ? boost::system::error_code{} : found->second;
}

// ---- set-up

void host_device::create(communicator_id communicator, std::span<const int>, const unique_id& id) {
  communicators_[communicator].key = key_of(id);
  set_up_ = set_up{communicator};
  finish_set_up({});
}

void host_device::connect(communicator_id communicator, int source, int destination) {
  const bool sending = source == self_;
  set_up_ = set_up{communicator, sending ? destination : source, sending};
  // A rank that has gone may have connected and sent before: what is in its stream still counts.
  if (use_arrived()) return;
  if (const auto code = gone(set_up_->peer)) return finish_set_up(code);
  if (sending) boost::asio::co_spawn(context_, connect_to(*set_up_, set_up_number_), boost::asio::detached);
}

boost::asio::awaitable<void> host_device::connect_to(set_up wanted, std::uint64_t number) {
  const hello mine{.purpose = purpose::device,
                   .from = self_,
                   .to = wanted.peer,
                   .world_size = static_cast<std::int32_t>(cards_.size()),
                   .incarnation = incarnation_,
                   .argument = communicators_[wanted.communicator].key};
  boost::system::error_code problem;
  try {
    stream_socket socket =
        co_await listening_.dial(cards_[static_cast<std::size_t>(wanted.peer)], mine, how_.set_up_timeout);
    shared_connection made = co_await share_memory(std::move(socket), &offer_rings);
    if (number == set_up_number_) channel(wanted.communicator, wanted.peer, true).connect(std::move(made));
  } catch (const boost::system::system_error&) {
    problem = errc::set_up_failed;
  }
  if (number == set_up_number_) finish_set_up(problem);  // else it was given up meanwhile
}

boost::asio::awaitable<void> host_device::take_connection(int from, std::uint64_t key, stream_socket socket) {
  std::optional<shared_connection> made;
  try {
    made.emplace(co_await share_memory(std::move(socket), &take_rings));
  } catch (const boost::system::system_error&) {
    // The other end has gone, or given up.
  }
  const auto early = early_.find({from, key});
  if (early == early_.end()) co_return;  // its communicator is gone
  if (made) {
    early->second = std::move(made);
    if (set_up_) (void)use_arrived();
    co_return;
  }
  const bool was_awaited = set_up_ && arrival_of(*set_up_) == early;
  early_.erase(early);
  if (was_awaited) finish_set_up(errc::set_up_failed);
}

host_device::arrivals::iterator host_device::arrival_of(const set_up& wanted) {
  if (wanted.sending) return early_.end();
  return early_.find({wanted.peer, communicators_[wanted.communicator].key});
}

// Whether the connection of the set-up under way has come. Once both ends have agreed how, the set-up ends with it.
bool host_device::use_arrived() {
  const auto early = arrival_of(*set_up_);
  if (early == early_.end()) return false;
  if (!early->second) return true;
  channel(set_up_->communicator, set_up_->peer, false).connect(std::move(*early->second));
  early_.erase(early);
  finish_set_up({});
  return true;
}

boost::asio::awaitable<shared_connection> host_device::share_memory(stream_socket socket, ring_exchange exchange) {
  shared_connection made = co_await detail::share_memory(std::move(socket), exchange, how_.shared_memory,
                                                         context_.get_executor(), how_.set_up_timeout);
  if (!made.why_not.empty()) how_.note("no shared memory for a channel, which takes a socket: " + made.why_not);
  co_return std::move(made);
}

void host_device::finish_set_up(boost::system::error_code code) {
  const set_up ended = *set_up_;
  set_up_.reset();
  ++set_up_number_;
  // What the log sends over a channel that could not be made ends by this name.
  if (code && ended.peer >= 0) channel(ended.communicator, ended.peer, ended.sending).fail(code, code);
  boost::asio::post(context_, [this, code] { events_.on_set_up(code); });
}

// Later: this may be called while the communicators are being walked through.
void host_device::destroy(communicator_id communicator) {
  boost::asio::post(context_, [this, communicator] {
    forget_early(communicators_[communicator].key);
    communicators_.erase(communicator);
    events_.on_set_up({});
  });
}

void host_device::forget_early(std::uint64_t key) {
  std::erase_if(early_, [key](const auto& connection) { return connection.first.second == key; });
}

void host_device::abort_set_up(boost::system::error_code code) {
  if (set_up_) finish_set_up(code);
}

void host_device::lend() {
  boost::asio::post(context_, [this] { events_.on_lent(); });
}

// ---- transfers

host_channel& host_device::channel(communicator_id communicator, int peer, bool sending) {
  auto& made = communicators_[communicator].channels[{peer, sending}];
  if (!made) {
    made = std::make_shared<host_channel>(communicator, sending, static_cast<channel_events&>(*this));
    if (const auto code = gone(peer); code && sending) made->fail(code, code);
  }
  return *made;
}

void host_device::issue(communicator_id communicator, group_id id, std::span<const device_transfer> transfers) {
  communicator_state& state = communicators_[communicator];
  state.groups.push_back({id, transfers.size(), std::vector<boost::system::error_code>(transfers.size())});
  copy_to_self(state.groups.back(), transfers);
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    if (transfers[i].peer == self_) continue;
    host_channel& lane = channel(communicator, transfers[i].peer, transfers[i].sending);
    if (!lane.is_connected() && !lane.has_failed()) lane.fail(errc::set_up_failed, errc::set_up_failed);
    lane.add(id, i, transfers[i]);
    lane.progress();
  }
  report_groups_later();
}

// A send to oneself and its receive are always in one group.
void host_device::copy_to_self(group_state& group, std::span<const device_transfer> transfers) {
  const auto self_end = [&](bool sending) {
    return std::find_if(transfers.begin(), transfers.end(), [&](const device_transfer& transfer) {
      return transfer.peer == self_ && transfer.sending == sending;
    });
  };
  const auto send = self_end(true);
  const auto receive = self_end(false);
  if (send == transfers.end() && receive == transfers.end()) return;
  const bool both = send != transfers.end() && receive != transfers.end();
  if (both) copy_message(send->memory.pieces, 0, receive->memory.pieces, receive->bytes);
  for (const auto end : {send, receive}) {
    if (end == transfers.end()) continue;
    if (!both) group.codes[static_cast<std::size_t>(end - transfers.begin())] = errc::transfer_aborted;
    --group.remaining;
  }
}

void host_device::on_transfer_done(communicator_id communicator, group_id id, std::size_t index,
                                   boost::system::error_code code) {
  for (group_state& group : communicators_[communicator].groups) {
    if (group.id != id) continue;
    group.codes[index] = code;
    --group.remaining;
    break;
  }
  report_groups_later();
}

void host_device::report_groups_later() {
  if (std::exchange(report_posted_, true)) return;
  boost::asio::post(context_, [this] {
    report_posted_ = false;
    report_groups();
  });
}

bool host_device::report_groups() {
  bool any = false;
  for (auto& [id, state] : communicators_) {
    while (!state.groups.empty() && state.groups.front().remaining == 0) {
      const group_state done = std::move(state.groups.front());
      state.groups.pop_front();
      events_.on_group_done(id, done.id, done.codes);
      any = true;
    }
  }
  return any;
}

// Groups are reported in a step of their own, which may not have had its turn.
bool host_device::poll() {
  const bool moved = look_at_channels();
  return report_groups() || moved;
}

void host_device::on_ring_wait(host_channel& channel) {
  if (watched_.empty()) last_news_ = std::chrono::steady_clock::now();
  auto self = channel.shared_from_this();
  // It is there already where a wake-up that was on its way made it look.
  if (std::find(watched_.begin(), watched_.end(), self) == watched_.end()) watched_.push_back(std::move(self));
}

bool host_device::look_at_channels() {
  if (watched_.empty()) return false;
  bool any = false;
  std::swap(watched_, looked_at_);
  for (auto& one : looked_at_) {
    if (!one->has_news()) {
      watched_.push_back(std::move(one));
      continue;
    }
    any = true;
    one->go_on();  // and may wait again
  }
  looked_at_.clear();
  const auto now = std::chrono::steady_clock::now();
  if (any) last_news_ = now;
  if (now - last_news_ >= watch_for) std::erase_if(watched_, [](const auto& one) { return one->fall_asleep(); });
  return any;
}

// ---- loss

void host_device::refuse(communicator_id communicator, int peer, bool sending) {
  channel(communicator, peer, sending).fail(errc::transfer_aborted, errc::transfer_aborted);
}

void host_device::abort(communicator_id communicator, boost::system::error_code code) {
  if (set_up_ && set_up_->communicator == communicator) finish_set_up(code);
  const auto found = communicators_.find(communicator);
  if (found == communicators_.end()) return;
  for (auto& [key, lane] : found->second.channels) lane->fail(code, code);
  forget_early(found->second.key);
}

void host_device::on_rank_gone(int rank, boost::system::error_code code) {
  gone_.emplace(rank, code);
  if (set_up_ && set_up_->peer == rank && arrival_of(*set_up_) == early_.end()) finish_set_up(code);
  for (auto& [id, state] : communicators_) {
    const auto outgoing = state.channels.find({rank, true});
    if (outgoing != state.channels.end()) outgoing->second->fail(errc::transfer_aborted, code);
    // What the rank had sent before may still be on its way: an open stream says itself when it ends.
    const auto incoming = state.channels.find({rank, false});
    if (incoming != state.channels.end() && !incoming->second->is_connected()) incoming->second->fail(code, code);
  }
}

void host_device::abort_all(boost::system::error_code code) {
  abort_set_up(code);
  for (auto& [id, state] : communicators_)
    for (auto& [key, lane] : state.channels) lane->fail(code, code);
}

}  // namespace weft::detail
