// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rank_card.hpp"

#include <weft/engine/rendezvous.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <future>
#include <list>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

/// Connections that stand still on demand: a test can hold an engine in a state that usually lasts for microseconds.
namespace weft::testing {

/// What another rank is dialled for. The log and the reports go to the sequencer, one connection each.
enum class line { link, device, log, report };

/// Stands between one rank and those that it dials, over Unix sockets, and passes on what the two ends say to each
/// other, in a thread of its own.
class relay {
  using protocol = boost::asio::local::stream_protocol;
  using acceptor = protocol::acceptor;
  using socket = protocol::socket;
  template <class T>
  using awaitable = boost::asio::awaitable<T>;

  template <class Work>
  auto on_thread(Work work) {
    std::packaged_task<decltype(work())()> task(std::move(work));
    auto done = task.get_future();
    boost::asio::post(context_, [&task] { task(); });
    return done.get();
  }

 public:
  relay() : thread_([this] { context_.run(); }) {}
  relay(const relay&) = delete;
  relay& operator=(const relay&) = delete;
  ~relay() {
    context_.stop();
    thread_.join();
  }

  /// A listening point's card in the place of `card`, through this relay. `lines`: what the connections to it are, in
  /// their order; all further ones are as the last.
  std::string stand_before(std::string card, int rank, std::vector<line> lines) {
    const std::string mark = "unix:";
    const std::size_t begin = card.find(mark) + mark.size();
    const std::string target = card.substr(begin);
    card.resize(begin);
    return card + on_thread([&] {
             acceptor& made = acceptors_.emplace_back(context_, protocol::endpoint(""));  // the kernel finds a name
             boost::asio::co_spawn(context_, accept(made, '\0' + target, rank, std::move(lines)),
                                   boost::asio::detached);
             return made.local_endpoint().path().substr(1);
           });
  }

  /// From here on nothing that is said on such lines to `rank`, in either direction, arrives.
  void hold(line what, int rank) {
    on_thread([&] { return held_.emplace(what, rank).second; });
  }
  /// What was held back arrives now.
  void release() {
    on_thread([&] {
      held_.clear();
      return released_.cancel();
    });
  }

 private:
  struct connection {
    socket near;
    socket far;
    std::pair<line, int> what;
  };

  awaitable<void> accept(acceptor& from, std::string target, int rank, std::vector<line> lines) {
    for (std::size_t i = 0;; ++i) {
      const line what = lines[std::min(i, lines.size() - 1)];
      socket near = co_await from.async_accept(boost::asio::use_awaitable);
      auto made = std::make_shared<connection>(connection{std::move(near), socket(context_), {what, rank}});
      co_await made->far.async_connect(protocol::endpoint(target), boost::asio::use_awaitable);
      boost::asio::co_spawn(context_, pass_on(made, made->near, made->far), boost::asio::detached);
      boost::asio::co_spawn(context_, pass_on(made, made->far, made->near), boost::asio::detached);
    }
  }

  // The connection is a parameter in order to live as long as both of its directions.
  awaitable<void> pass_on(std::shared_ptr<connection> whole, socket& from, socket& to) {
    constexpr auto with_code = boost::asio::as_tuple(boost::asio::use_awaitable);
    std::array<std::byte, 65'536> bytes;
    for (;;) {
      auto [code, size] = co_await from.async_read_some(boost::asio::buffer(bytes), with_code);
      while (held_.contains(whole->what)) co_await released_.async_wait(with_code);
      if (code) break;
      auto [failed, written] = co_await boost::asio::async_write(to, boost::asio::buffer(bytes, size), with_code);
      if (failed) break;
    }
    boost::system::error_code ignored;
    to.shutdown(socket::shutdown_send, ignored);
    from.shutdown(socket::shutdown_receive, ignored);
  }

  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{context_.get_executor()};
  boost::asio::steady_timer released_{context_, std::chrono::steady_clock::time_point::max()};
  std::list<acceptor> acceptors_;
  std::set<std::pair<line, int>> held_;
  std::thread thread_;  // last: it uses all of the above
};

/// Where one rank meets the others, and what it dials from then on goes through `through`.
class relayed_rendezvous final : public rendezvous {
 public:
  relayed_rendezvous(std::shared_ptr<rendezvous> meeting, relay& through)
      : meeting_(std::move(meeting)), through_(through) {}

  boost::asio::awaitable<std::vector<std::string>> exchange(int rank, int world_size, std::string card,
                                                            std::chrono::milliseconds timeout) override {
    auto cards = co_await meeting_->exchange(rank, world_size, std::move(card), timeout);
    for (int other = 0; other < world_size; ++other) {
      auto& text = cards[static_cast<std::size_t>(other)];
      auto parts = weft::detail::rank_card::parse(text, other);
      parts.links = through_.stand_before(parts.links, other, {line::link});
      parts.device = through_.stand_before(parts.device, other, {line::device});
      if (other == 0) parts.sequencer = through_.stand_before(parts.sequencer, other, {line::log, line::report});
      text = parts.text();
    }
    co_return cards;
  }

 private:
  std::shared_ptr<rendezvous> meeting_;
  relay& through_;
};

}  // namespace weft::testing
