// SPDX-License-Identifier: Apache-2.0
#include "worker.hpp"

#include "head_count.hpp"
#include "messages.hpp"
#include "tally.hpp"

#include <weft/engine/objects.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <unistd.h>

#include <iostream>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace serve {
namespace {

namespace asio = boost::asio;

constexpr auto with_code = asio::as_tuple(asio::use_awaitable);

// Of the text, between two looks at what else there is to do: about 50 us of work.
constexpr std::size_t piece_bytes = std::size_t{16} << 10;
constexpr std::size_t words_reported = 5;

/// What the front wants to know, in turns of one thread.
class worker {
 public:
  worker(weft::communicator comm, const asio::any_io_executor& executor)
      : comm_(std::move(comm)), executor_(executor), under_way_(executor) {}

  asio::awaitable<int> run() {
    const hello first{getpid()};
    co_await weft::send_objects(comm_, weft::to(0, hellos), first);
    asio::co_spawn(executor_, take_cancels(), asio::detached);
    const boost::system::error_code why = co_await take_requests();
    while (!assigned_.empty()) {
      assigned_.begin()->second->give_up();
      assigned_.erase(assigned_.begin());
    }
    co_await under_way_.none_left();
    if (why == weft::errc::peer_left) co_return 0;
    std::cerr << "the front is lost: " << why.message() << std::endl;
    co_return 1;
  }

 private:
  /// A request at work.
  struct assignment {
    explicit assignment(const asio::any_io_executor& executor) : rest(executor) {}
    void give_up() {
      given_up = true;
      rest.cancel();
    }
    asio::steady_timer rest;
    bool given_up = false;
  };

  /// Until the front goes. Received from rank 0 and not from `any_source`, which would wait on as long as any rank is
  /// left.
  asio::awaitable<boost::system::error_code> take_requests() {
    for (;;) {
      auto [code, result] = co_await weft::recv_objects<request>(comm_, weft::from(0, requests))(with_code);
      if (code) co_return code;
      request job = std::get<0>(std::move(result.values));
      newest_ = job.reply_tag;
      asio::co_spawn(executor_, work(std::move(job)), asio::detached);
    }
  }

  asio::awaitable<void> take_cancels() {
    const head_count::member present(under_way_);
    for (;;) {
      auto [code, result] = co_await weft::recv_objects<cancel>(comm_, weft::from(0, cancels))(with_code);
      if (code) co_return;
      const std::uint64_t tag = std::get<0>(result.values).reply_tag;
      if (const auto found = assigned_.find(tag); found != assigned_.end())
        found->second->give_up();
      else if (tag > newest_)
        cancelled_early_.insert(tag);
    }
  }

  asio::awaitable<void> work(request job) {
    const head_count::member present(under_way_);
    assignment mine(executor_);
    mine.given_up = cancelled_early_.erase(job.reply_tag) != 0;
    assigned_.emplace(job.reply_tag, &mine);
    tally all;
    std::string_view rest = job.text;
    part next;
    while (!next.last) {
      co_await let_others_in(mine, job.pace_ms);
      next = mine.given_up ? last_word() : count_some(all, rest);
      auto [code, sent] = co_await weft::send_objects(comm_, weft::to(0, job.reply_tag), next)(with_code);
      if (code) break;  // the front is gone
    }
    assigned_.erase(job.reply_tag);
  }

  asio::awaitable<void> let_others_in(assignment& mine, std::uint32_t pace_ms) {
    if (mine.given_up) co_return;
    if (pace_ms == 0) {
      co_await asio::post(executor_, asio::use_awaitable);
    } else {
      mine.rest.expires_after(std::chrono::milliseconds(pace_ms));
      co_await mine.rest.async_wait(with_code);
    }
  }

  static part last_word() {
    part given_up;
    given_up.last = given_up.given_up = true;
    return given_up;
  }

  static part count_some(tally& all, std::string_view& rest) {
    all.add(rest.substr(0, piece_bytes));
    rest.remove_prefix(std::min(rest.size(), piece_bytes));
    part next;
    next.last = rest.empty();
    if (next.last) {
      all.end();
      next.checksum = all.checksum();
      next.most_frequent = all.most_frequent(words_reported);
    }
    next.bytes = all.bytes();
    next.words = all.words();
    return next;
  }

  weft::communicator comm_;
  asio::any_io_executor executor_;
  head_count under_way_;
  std::map<std::uint64_t, assignment*> assigned_;
  // A cancel can overtake its request: a large text comes behind its announcement, and is begun once it is all there.
  // Requests come in the order of their tags, so a tag that is not newer than the newest is one that is over.
  std::uint64_t newest_ = 0;
  std::set<std::uint64_t> cancelled_early_;
};

}  // namespace

asio::awaitable<int> run_worker(weft::communicator comm) {
  const auto executor = co_await asio::this_coro::executor;
  worker one(comm, executor);
  co_return co_await one.run();
}

}  // namespace serve
