// SPDX-License-Identifier: Apache-2.0
// The beginning and the end of an engine's life, and the links to other ranks.
#include "engine_core.hpp"

#include "link/connect.hpp"
#include "link/rehome.hpp"
#include "link/socket_rendezvous.hpp"
#include "rank_card.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <sodium/randombytes.h>

#include <algorithm>
#include <chrono>
#include <numeric>

namespace weft::detail {
namespace {

namespace asio = boost::asio;

// For a link between two ranks that have met: their listeners stand, so only a dead or overloaded rank takes longer.
constexpr std::chrono::seconds dial_timeout{30};
// How long close waits for other ranks to take what was written to them and to answer the goodbye.
constexpr std::chrono::seconds goodbye_timeout{5};

std::uint64_t random_number() {
  std::uint64_t number = 0;
  ::randombytes_buf(&number, sizeof number);
  return number;
}

[[noreturn]] void refuse_option(const std::string& text) {
  throw error(errc::invalid_option, text);
}

void check_time(const char* name, std::chrono::milliseconds given, std::chrono::milliseconds shortest,
                std::chrono::milliseconds longest) {
  if (given < shortest || given > longest)
    refuse_option(std::string(name) + " is " + std::to_string(given.count()) + " ms; it is from " +
                  std::to_string(shortest.count()) + " to " + std::to_string(longest.count()) + " ms");
}

void check(const engine_options& options) {
  if (options.world_size < 1 || options.world_size > largest_world_size)
    refuse_option("world_size is " + std::to_string(options.world_size) + "; it is from 1 to " +
                  std::to_string(largest_world_size));
  if (options.rank < 0 || options.rank >= options.world_size)
    refuse_option("rank is " + std::to_string(options.rank) + "; with a world_size of " +
                  std::to_string(options.world_size) + " it is from 0 to " + std::to_string(options.world_size - 1));
  if (options.world_size > 1 && !options.meeting && options.rendezvous_address.empty())
    refuse_option("no rendezvous: set rendezvous_address (\"host:port\" or \"unix:name\") or meeting");
  if (options.eager_limit > largest_eager_limit)
    refuse_option("eager_limit is " + std::to_string(options.eager_limit) + " bytes; it is at most " +
                  std::to_string(largest_eager_limit));
  check_time("join_timeout", options.join_timeout, shortest_timeout, longest_timeout);
  check_time("set_up_timeout", options.set_up_timeout, shortest_timeout, longest_timeout);
  if (options.launch_timeout <= std::chrono::nanoseconds::zero())
    refuse_option("launch_timeout is " + std::to_string(options.launch_timeout.count()) +
                  " ns; it is above 0, or no_limit");
  check_time("link_timeout", options.link_timeout, shortest_link_timeout, longest_link_timeout);
  if (options.spin < options.spin.zero() || options.spin > longest_spin)
    refuse_option("spin is " + std::to_string(options.spin.count()) + " us; it is from 0 to " +
                  std::to_string(longest_spin.count()) + " us");
}

}  // namespace

engine_core::engine_core(asio::any_io_executor executor, engine_options options)
    : executor_(std::move(executor)),
      options_(std::move(options)),

      deadline_timer_((check(options_), executor_)),
      incarnation_(random_number()),
      links_(static_cast<std::size_t>(options_.world_size)),
      noticed_gone_(static_cast<std::size_t>(options_.world_size)),
      attention_(options_.spin),
      changed_(executor_, mutex_),
      goodbye_timer_(executor_) {
  std::vector<int> all(static_cast<std::size_t>(options_.world_size));
  std::iota(all.begin(), all.end(), 0);
  groups_.emplace_back(protocol::root_group, options_.rank, std::move(all));
}

engine_core::~engine_core() {
  stop_threads();
}

// ---- join

asio::awaitable<void> engine_core::join() {
  if (life_ != life::created || launch_)
    throw error(errc::already_joined,
                "join was called on an engine that has joined, tried to, or was closed: an engine "
                "joins once, make another one");
  try {
    co_await meet();
  } catch (...) {
    stop();  // nothing that listens keeps the executor busy
    throw;
  }
}

asio::awaitable<void> engine_core::meet() {
  listening_options listening = listen_as(options_);
  const auto tell = [weak = weak_from_this()](log_level level, std::string text) {
    const auto self = weak.lock();
    if (!self) return;
    const std::lock_guard lock(self->mutex_);
    self->log(level, std::move(text));
    self->schedule();
  };
  listening.report = [tell](std::string text) { tell(log_level::warning, std::move(text)); };
  const auto strand = asio::make_strand(executor_);
  listening_.emplace(strand, listening,
                     listening_callbacks{
                         .admit =
                             [weak = weak_from_this()](const hello& from) {
                               const auto self = weak.lock();
                               return self ? self->admit(from) : verdict::unknown_incarnation;
                             },
                         .accepted =
                             [weak = weak_from_this()](const hello& from, stream_socket socket) {
                               if (const auto self = weak.lock()) self->accept_link(from, std::move(socket));
                             },
                     });
  const device_factory make_device =
      choose_device(options_, listening, [tell](std::string text) { tell(log_level::info, std::move(text)); });
  launch_.emplace(make_device, options_.set_up_timeout, options_.launch_timeout, transfers_, *this);
  device_memory_ = launch_->memory();
  device_ordinal_ = launch_->device_ordinal();
  chores_ = launch_->chores();
  if (rank() == 0) {
    const protocol::sequencer_limits limits{.pair_budget = options_.pair_budget,
                                            .pair_budget_bytes = options_.pair_budget_bytes,
                                            .pair_bytes = launch_->pair_bytes()};
    sequencer_.emplace(listening, world_size(), limits, [this] {
      const std::lock_guard lock(mutex_);
      others_gone_ = true;
      check_drained();
    });
  }
  std::vector<std::string> cards;
  if (world_size() == 1) {
    cards.push_back(make_card());
  } else {
    auto meeting = options_.meeting;
    if (!meeting) meeting = make_socket_rendezvous(options_.rendezvous_address, options_.job_key, listening.report);
    cards = co_await meeting->exchange(rank(), world_size(), make_card(), options_.join_timeout);
  }
  co_await enter(std::move(cards));
}

std::string engine_core::make_card() const {
  rank_card card;
  card.incarnation = incarnation_;
  card.inline_credit = options_.inline_credit;
  card.links = listening_->card();
  card.device_name = launch_->device_name();
  card.device = launch_->device_card();
  if (sequencer_) card.sequencer = sequencer_->card();
  return card.text();
}

// A communicator has devices of one kind.
void engine_core::check_device(const std::string& name, int of) const {
  if (name == launch_->device_name()) return;
  throw error(errc::rendezvous_conflict,
              "rank " + std::to_string(of) + " has the " + name + " device, and rank " + std::to_string(rank()) +
                  " the " + std::string(launch_->device_name()) +
                  " device: set engine_options::device, or WEFT_DEVICE, to the same on all ranks");
}

asio::awaitable<void> engine_core::enter(std::vector<std::string> texts) {
  std::vector<std::string> devices;
  std::vector<std::size_t> credit;
  std::string sequencer_card;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    rank_card card = rank_card::parse(texts[i], static_cast<int>(i));
    check_device(card.device_name, static_cast<int>(i));
    devices.push_back(std::move(card.device));
    link_cards_.push_back(std::move(card.links));
    incarnations_.push_back(card.incarnation);
    credit.push_back(card.inline_credit);
    if (i == 0) sequencer_card = std::move(card.sequencer);
  }
  if (sequencer_) sequencer_->start(incarnations_);
  // Named: temporaries with members that own something must not stand in an expression that suspends.
  const hello as_log = hello_to(0, purpose::log);
  const hello as_report = hello_to(0, purpose::report);
  stream_socket log = co_await listening_->dial(sequencer_card, as_log, options_.join_timeout);
  stream_socket report = co_await listening_->dial(sequencer_card, as_report, options_.join_timeout);

  const std::lock_guard lock(mutex_);
  const protocol::endpoint_limits limits{.eager_limit = options_.eager_limit,
                                         .max_unmatched = options_.max_unmatched,
                                         .max_object_bytes = options_.max_object_bytes,
                                         .inline_credit = options_.inline_credit,
                                         .device_is_apart = launch_->device_name() != "host"};
  endpoint_.emplace(rank(), credit, limits);
  report_link_ = std::make_shared<message_link>(rehome(std::move(report), executor_), 0, *this, shared_from_this());
  report_link_->start();
  launch_->start(std::move(log), std::move(devices), rank(), incarnation_);
  life_ = life::joined;
  for (early_link& one : early_links_) install_link(one.peer, std::move(one.made));
  early_links_.clear();
}

hello engine_core::hello_to(int to, purpose why) const {
  return {.purpose = why,
          .from = rank(),
          .to = to,
          .world_size = world_size(),
          .incarnation = incarnation_,
          .argument = incarnations_[static_cast<std::size_t>(to)]};
}

// ---- links

verdict engine_core::admit(const hello& from) {
  const std::lock_guard lock(mutex_);
  if (from.purpose != purpose::peer) return verdict::wrong_purpose;
  if (from.from < 0 || from.from >= world_size() || from.from == rank()) return verdict::wrong_rank;
  // The argument is whom the dialler believes to reach: a restarted rank at an old address is another one.
  if (from.argument != incarnation_ || life_ == life::ended) return verdict::unknown_incarnation;
  if (!incarnations_.empty() && from.incarnation != incarnations_[static_cast<std::size_t>(from.from)])
    return verdict::unknown_incarnation;
  return links_.admit(rank(), from.from);
}

void engine_core::accept_link(const hello& from, stream_socket accepted) {
  const auto strand = asio::make_strand(executor_);
  asio::co_spawn(strand, accept_peer(from.from, rehome(std::move(accepted), strand)), asio::detached);
}

asio::awaitable<void> engine_core::accept_peer(int peer, stream_socket accepted) {
  const auto self = shared_from_this();
  try {
    shared_connection made = co_await share_memory(std::move(accepted), &take_rings);
    begin_turn();
    if (life_ == life::created)
      early_links_.push_back({peer, std::move(made)});  // it has read the cards before
    else
      install_link(peer, std::move(made));
    end_turn();
  } catch (const std::exception& problem) {
    begin_turn();
    if (links_.at(peer).state == link_state::incoming) {
      log(log_level::warning, "no link from rank " + std::to_string(peer) + ": " + problem.what());
      peer_gone(peer, errc::peer_lost);
    }
    end_turn();
  }
}

// Of two ranks on one host; what cannot be had is said, and done without.
asio::awaitable<shared_connection> engine_core::share_memory(stream_socket connected, ring_exchange exchange) {
  shared_connection made =
      co_await detail::share_memory(std::move(connected), exchange, options_.shared_memory, executor_, dial_timeout);
  if (!made.why_not.empty()) {
    begin_turn();
    log(log_level::info, "no shared memory for a link, which takes a socket: " + made.why_not);
    end_turn();
  }
  co_return std::move(made);
}

void engine_core::install_link(int peer, shared_connection made) {
  const link_state state = links_.at(peer).state;
  if (state == link_state::open || state == link_state::gone) return;
  patience_.erase(peer);
  auto link =
      std::make_shared<message_link>(std::move(made.socket), peer, *this, shared_from_this(), std::move(made.rings));
  links_.open(peer, link);
  link->start();
  if (goodbyes_said_) say_goodbye_to(peer);  // the other end's attempt was under way
}

// Not cancelled when it is not wanted any more: it ends by itself, within its deadline. (In Boost 1.81 a cancellation
// of co_spawn that meets the end of the coroutine uses its signal after its end.)
void engine_core::dial(int peer) {
  asio::co_spawn(
      asio::make_strand(executor_), [self = shared_from_this(), peer] { return self->dial_peer(peer); },
      asio::detached);
}

asio::awaitable<void> engine_core::dial_peer(int peer) {
  const auto self = shared_from_this();
  const hello mine = hello_to(peer, purpose::peer);
  try {
    stream_socket dialled = co_await listening_->dial(link_cards_[static_cast<std::size_t>(peer)], mine, dial_timeout);
    shared_connection made = co_await share_memory(std::move(dialled), &offer_rings);
    begin_turn();
    install_link(peer, std::move(made));
    end_turn();
  } catch (const refused_as_busy&) {
    await_other_attempt(peer);
  } catch (const std::exception& problem) {
    begin_turn();
    if (links_.at(peer).state == link_state::connecting) {
      log(log_level::warning, "no link to rank " + std::to_string(peer) + ": " + problem.what());
      peer_gone(peer, errc::peer_lost);
    }
    end_turn();
  }
}

// The other end dials too, and its attempt stands. It has the same time to succeed.
void engine_core::await_other_attempt(int peer) {
  const std::lock_guard lock(mutex_);
  const link_state state = links_.at(peer).state;
  if (state != link_state::connecting && state != link_state::incoming) return;
  auto& timer = *patience_.insert_or_assign(peer, std::make_unique<asio::steady_timer>(executor_)).first->second;
  timer.expires_after(dial_timeout);
  timer.async_wait([weak = weak_from_this(), peer](const boost::system::error_code& code) {
    const auto self = weak.lock();
    if (code || !self) return;
    self->begin_turn();
    if (self->links_.at(peer).state != link_state::open) self->peer_gone(peer, errc::peer_lost);
    self->end_turn();
  });
}

// ---- close

template <class Condition>
asio::awaitable<void> engine_core::until(Condition condition) {
  for (;;) {
    bool done = false;
    {
      const std::lock_guard lock(mutex_);
      done = condition();
    }
    if (done) break;
    co_await changed_.wait(asio::use_awaitable);
  }
}

asio::awaitable<void> engine_core::close() {
  const auto self = shared_from_this();
  {
    const std::lock_guard lock(mutex_);
    if (life_ != life::joined) co_return;
    life_ = life::closing;
    endpoint_->close(actions_);
    fail_splits(errc::closed);
    fail_reservations(errc::closed);
    fail_leases(errc::closed);
    perform();
    schedule();
  }
  const auto carried_out = [this] {
    return endpoint_->in_flight() == 0 && deliveries_.empty() && !links_.has_output();
  };
  co_await until(carried_out);
  {
    const std::lock_guard lock(mutex_);
    say_goodbye();
  }
  const auto answered = [this] { return links_.open_count() == 0 || goodbye_is_late_; };
  co_await until(answered);
  launch_->leave();
  const auto heard = [this] { return log_left_; };
  co_await until(heard);
  if (sequencer_ && world_size() > 1) {
    const auto alone = [this] { return others_gone_; };
    co_await until(alone);
  }
  stop();
}

void engine_core::say_goodbye() {
  goodbyes_said_ = true;
  for (int peer = 0; peer < world_size(); ++peer)
    if (links_.at(peer).state == link_state::open) say_goodbye_to(peer);
  flush_links();
  goodbye_timer_.expires_after(goodbye_timeout);
  goodbye_timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& code) {
    const auto self = weak.lock();
    if (code || !self) return;
    const std::lock_guard lock(self->mutex_);
    self->goodbye_is_late_ = true;
    self->changed_.notify();
  });
}

void engine_core::say_goodbye_to(int peer) {
  const protocol::goodbye body{};
  (void)links_.send(peer, static_cast<std::uint8_t>(protocol::message_type::goodbye),
                    std::as_bytes(std::span(&body, 1)), {}, 0);
}

void engine_core::stop() {
  {
    const std::lock_guard lock(mutex_);
    if (life_ == life::ended) return;
    life_ = life::ended;
    goodbye_timer_.cancel();
    deadline_timer_.cancel();
    for (int peer = 0; peer < world_size(); ++peer) {
      patience_.erase(peer);
      links_.drop(peer);
    }
    watched_.clear();  // links keep their owner: where nobody watches any more they would keep each other
    if (report_link_) report_link_->close();
    if (listening_) listening_->close();
    early_links_.clear();
  }
  // Not under the lock, which these threads may be waiting for. After it nobody touches the memory of an operation.
  stop_threads();
  const std::lock_guard lock(mutex_);
  if (chores_) chores_->come_to_rest();
  if (endpoint_) endpoint_->end_all(errc::closed, actions_);
  fail_splits(errc::closed);
  fail_reservations(errc::closed);
  fail_leases(errc::closed);
  perform();
  while (!deliveries_.empty()) end_delivery(deliveries_.begin()->first, errc::closed);
  report_link_.reset();  // it shares this object
  if (!weak_from_this().expired()) schedule();
}

void engine_core::stop_threads() {
  if (launch_) launch_->stop();
  if (sequencer_) sequencer_->stop();
}

}  // namespace weft::detail
