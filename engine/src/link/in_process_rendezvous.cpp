// SPDX-License-Identifier: Apache-2.0
#include <weft/engine/error.hpp>
#include <weft/engine/options.hpp>
#include <weft/engine/rendezvous.hpp>

#include "link/rank_list.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <mutex>
#include <optional>
#include <utility>

namespace weft {
namespace {

namespace asio = boost::asio;
using card_list = std::vector<std::optional<std::string>>;

/// Sleeps on its own strand, and is woken from other threads.
struct sleeper {
  explicit sleeper(const asio::any_io_executor& own_strand) : strand(own_strand), alarm(own_strand) {}

  asio::any_io_executor strand;
  asio::steady_timer alarm;
};

void wake(const std::shared_ptr<sleeper>& who) {
  // Also where it is about to fall asleep only.
  asio::post(who->strand, [who] { who->alarm.expires_at(asio::steady_timer::time_point::min()); });
}

/// One meeting of all ranks. It ends when all have come, or when the first of them runs out of time: then none of them
/// can succeed any more, and all are told the same.
struct generation {
  explicit generation(int world_size) : cards(static_cast<std::size_t>(world_size)) {}

  void end() {
    ended = true;
    for (const auto& who : sleepers) wake(who);
    sleepers.clear();
  }

  card_list cards;
  std::vector<std::shared_ptr<sleeper>> sleepers;
  bool ended = false;
  std::string failure;
};

class in_process_rendezvous final : public rendezvous {
 public:
  explicit in_process_rendezvous(int world_size)
      : world_size_(world_size), current_(std::make_shared<generation>(world_size)) {}

  asio::awaitable<std::vector<std::string>> exchange(int rank, int world_size, std::string card,
                                                     std::chrono::milliseconds timeout) override {
    detail::check_contribution(rank, world_size, card);
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    const auto self = std::make_shared<sleeper>(asio::make_strand(executor));
    self->alarm.expires_after(timeout);
    const auto meeting = join(rank, world_size, std::move(card), self);
    departure guard{*this, *meeting, rank};
    co_await asio::co_spawn(self->strand, sleep(self), asio::use_awaitable);
    const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none)
      throw boost::system::system_error(asio::error::operation_aborted);
    co_return conclude(*meeting, timeout);
  }

 private:
  using meeting_ptr = std::shared_ptr<generation>;

  /// Whoever leaves before the meeting has ended, because it was cancelled, takes its card back.
  class departure {
   public:
    departure(in_process_rendezvous& place, generation& meeting, int rank)
        : place_(place), meeting_(meeting), rank_(rank) {}
    departure(const departure&) = delete;
    departure& operator=(const departure&) = delete;
    ~departure() {
      const std::lock_guard lock(place_.mutex_);
      if (!meeting_.ended) meeting_.cards[static_cast<std::size_t>(rank_)].reset();
    }

   private:
    in_process_rendezvous& place_;
    generation& meeting_;
    int rank_;
  };

  static asio::awaitable<void> sleep(std::shared_ptr<sleeper> self) {
    boost::system::error_code woken;
    co_await self->alarm.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }

  meeting_ptr join(int rank, int world_size, std::string card, const std::shared_ptr<sleeper>& self) {
    const std::lock_guard lock(mutex_);
    if (world_size != world_size_)
      throw error(errc::rendezvous_conflict, "rank " + std::to_string(rank) + " joins with world size " +
                                                 std::to_string(world_size) + " where " + std::to_string(world_size_) +
                                                 " ranks meet");
    meeting_ptr meeting = current_;
    auto& place = meeting->cards[static_cast<std::size_t>(rank)];
    if (place)
      throw error(errc::rendezvous_conflict, "two participants are rank " + std::to_string(rank) +
                                                 ": one joined with card \"" + *place + "\", another with \"" + card +
                                                 "\"");
    place = std::move(card);
    meeting->sleepers.push_back(self);
    if (detail::missing_ranks(meeting->cards).empty()) end(*meeting);
    return meeting;
  }

  // Under the lock. The next to come begin a new meeting.
  void end(generation& meeting) {
    meeting.end();
    current_ = std::make_shared<generation>(world_size_);
  }

  std::vector<std::string> conclude(generation& meeting, std::chrono::milliseconds timeout) {
    const std::lock_guard lock(mutex_);
    if (!meeting.ended) {
      meeting.failure = detail::describe_missing(meeting.cards, timeout);
      end(meeting);
    }
    if (!meeting.failure.empty()) throw error(errc::rendezvous_timed_out, meeting.failure);
    std::vector<std::string> cards;
    for (const auto& card : meeting.cards) cards.push_back(*card);
    return cards;
  }

  const int world_size_;
  std::mutex mutex_;
  meeting_ptr current_;
};

}  // namespace

std::shared_ptr<rendezvous> make_in_process_rendezvous(int world_size) {
  if (world_size < 1 || world_size > largest_world_size)
    throw error(errc::invalid_option, "a rendezvous of " + std::to_string(world_size) + " ranks: expected from 1 to " +
                                          std::to_string(largest_world_size));
  return std::make_shared<in_process_rendezvous>(world_size);
}

}  // namespace weft
