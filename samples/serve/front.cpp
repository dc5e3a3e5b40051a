// SPDX-License-Identifier: Apache-2.0
#include "front.hpp"

#include "desk.hpp"
#include "messages.hpp"
#include "session.hpp"

#include <weft/engine/objects.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <csignal>
#include <iostream>
#include <set>
#include <stdexcept>
#include <utility>

namespace serve {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

constexpr auto with_code = asio::as_tuple(asio::use_awaitable);

/// Accepts clients, and knows which workers there are.
class front {
 public:
  front(weft::communicator comm, const options& given, const asio::any_io_executor& executor)
      : shared_(std::move(comm), given, executor),
        acceptor_(executor, tcp::endpoint(tcp::v4(), given.port)),
        signals_(executor, SIGTERM, SIGINT) {}

  asio::awaitable<int> run() {
    for (int worker = 1; worker < shared_.comm.size(); ++worker) co_await meet(worker);
    signals_.async_wait([this](const boost::system::error_code& code, int) {
      if (!code) stop();
    });
    std::cout << "serving on port " << acceptor_.local_endpoint().port() << std::endl;
    while (!shared_.closing) co_await accept_one();
    co_await shared_.under_way.none_left();
    std::cout << stats_of(shared_) << std::flush;
    co_return 0;
  }

 private:
  /// Waits until a worker is ready or gone.
  asio::awaitable<void> meet(int worker) {
    auto [code, result] = co_await weft::recv_objects<hello>(shared_.comm, weft::from(worker, hellos))(with_code);
    if (code) {
      shared_.workers.lose(worker);
      co_return;
    }
    shared_.workers.ready(worker, std::get<0>(result.values).pid);
    asio::co_spawn(shared_.executor, notice_end_of(worker), asio::detached);
  }

  asio::awaitable<void> notice_end_of(int worker) {
    // Nothing more comes under this tag: the receive ends when the worker goes, or with this engine. Then it is
    // `closed`, and this object is gone.
    auto [code, result] = co_await weft::recv_objects<hello>(shared_.comm, weft::from(worker, hellos))(with_code);
    if (code == weft::errc::closed) co_return;
    std::cerr << "worker " << worker << " is lost: " << code.message() << std::endl;
    shared_.workers.lose(worker);
  }

  asio::awaitable<void> accept_one() {
    auto [code, socket] = co_await acceptor_.async_accept(with_code);
    if (code) co_await accept_later(code);
    if (!code && !shared_.closing) asio::co_spawn(shared_.executor, attend(std::move(socket)), asio::detached);
  }

  /// Without a descriptor to spare, accepting again at once would fail again at once.
  asio::awaitable<void> accept_later(boost::system::error_code why) {
    if (shared_.closing) co_return;
    std::cerr << "cannot accept a client: " << why.message() << std::endl;
    asio::steady_timer pause(shared_.executor, std::chrono::milliseconds(100));
    co_await pause.async_wait(with_code);
  }

  asio::awaitable<void> attend(tcp::socket socket) {
    const head_count::member present(shared_.under_way);
    session one(std::move(socket), shared_);
    sessions_.insert(&one);
    co_await one.run();
    sessions_.erase(&one);
  }

  void stop() {
    shared_.closing = true;
    acceptor_.close();
    for (session* each : sessions_) each->stop();
  }

  desk shared_;
  tcp::acceptor acceptor_;
  asio::signal_set signals_;
  std::set<session*> sessions_;
};

}  // namespace

asio::awaitable<int> run_front(weft::communicator comm, options given) {
  if (comm.size() < 2) throw std::invalid_argument("there is no worker: start two ranks or more");
  const auto executor = co_await asio::this_coro::executor;
  front one(comm, given, executor);
  co_return co_await one.run();
}

}  // namespace serve
