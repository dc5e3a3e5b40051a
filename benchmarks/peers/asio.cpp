// SPDX-License-Identifier: Apache-2.0
// Plain Boost.Asio coroutines: messages behind their length, written together and read through a buffer, as a careful
// program of one's own would. Modes: unix, tcp.
#include "measure.hpp"

#include <boost/asio.hpp>

namespace {

using namespace peers;
namespace asio = boost::asio;
using asio::awaitable;
using asio::use_awaitable;

template <class Socket>
class connection {
 public:
  explicit connection(Socket& socket) : socket_(socket), held_(256 << 10) {}

  /// The message `times` over, in one write.
  awaitable<void> send(const_bytes message, std::size_t times = 1) {
    const std::uint64_t size = message.size();
    std::vector<asio::const_buffer> pieces;
    for (; times > 0; --times) {
      pieces.push_back(asio::buffer(&size, sizeof size));
      pieces.push_back(asio::buffer(message.data(), message.size()));
    }
    co_await asio::async_write(socket_, pieces, use_awaitable);
  }

  awaitable<void> receive(bytes message) {
    std::uint64_t size = 0;
    while (end_ - begin_ < sizeof size) co_await read_more();
    std::memcpy(&size, held_.data() + begin_, sizeof size);
    begin_ += sizeof size;
    if (size != message.size()) throw std::runtime_error("a message of another size arrived");
    const std::size_t here = std::min(size, end_ - begin_);
    std::memcpy(message.data(), held_.data() + begin_, here);
    begin_ += here;
    if (here < size)
      co_await asio::async_read(socket_, asio::buffer(message.data() + here, size - here), use_awaitable);
  }

 private:
  awaitable<void> read_more() {
    std::memmove(held_.data(), held_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    end_ += co_await socket_.async_read_some(asio::buffer(held_.data() + end_, held_.size() - end_), use_awaitable);
  }

  Socket& socket_;
  std::vector<std::byte> held_;
  std::size_t begin_ = 0, end_ = 0;
};

template <class Socket>
awaitable<void> ping_pong(connection<Socket>& end, exchange& all, std::uint64_t units) {
  for (; units > 0; --units) {
    const auto before = exchange::clock::now();
    if (all.own.leads()) co_await end.send(all.outgoing);
    co_await end.receive(all.incoming.front());
    if (!all.own.leads()) co_await end.send(all.outgoing);
    if (all.own.leads()) all.record(before);
  }
}

// Half of a window at a time, which is what the other end answers at once.
template <class Socket>
awaitable<void> stream_out(connection<Socket>& end, exchange& all, std::uint64_t halves) {
  std::array<std::byte, 8> answer;
  for (std::uint64_t half = 0; half < halves; ++half) {
    if (half >= 2) co_await end.receive(answer);
    co_await end.send(all.outgoing, all.what.in_flight() / 2);
  }
  co_await end.receive(answer);
  co_await end.receive(answer);
}

template <class Socket>
awaitable<void> stream_in(connection<Socket>& end, exchange& all, std::uint64_t halves) {
  constexpr std::array<std::byte, 8> answer{};
  for (std::uint64_t half = 0; half < halves; ++half) {
    for (std::size_t i = 0; i < all.what.in_flight() / 2; ++i)
      co_await end.receive(all.incoming[half % 2 * all.what.in_flight() / 2 + i]);
    co_await end.send(answer);
  }
}

template <class Socket>
void measure_over(asio::io_context& context, Socket& socket, exchange& all) {
  connection<Socket> end(socket);
  measure("asio", BOOST_LIB_VERSION, all, [&](std::uint64_t units) {
    const auto rethrow = [](std::exception_ptr problem) {
      if (problem) std::rethrow_exception(problem);
    };
    asio::co_spawn(context,
                   all.what.is_ping_pong() ? ping_pong(end, all, units)
                   : all.own.leads()       ? stream_out(end, all, 2 * units)
                                           : stream_in(end, all, 2 * units),
                   rethrow);
    context.restart();
    context.run();
  });
}

void measure_over_tcp(asio::io_context& context, asio::ip::tcp::acceptor& acceptor, exchange& all) {
  asio::ip::tcp::socket socket(context);
  if (all.own.leads())
    acceptor.accept(socket);
  else
    socket.connect(acceptor.local_endpoint());
  socket.set_option(asio::ip::tcp::no_delay(true));
  measure_over(context, socket, all);
}

}  // namespace

int main(int argc, char** argv) {
  const job asked = parse_job(argc, argv);
  asio::io_context context(1);
  asio::ip::tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), 0});
  std::array<asio::local::stream_protocol::socket, 2> sockets{asio::local::stream_protocol::socket(context),
                                                              asio::local::stream_protocol::socket(context)};
  asio::local::connect_pair(sockets[0], sockets[1]);
  context.notify_fork(asio::io_context::fork_prepare);
  const process own = fork_in_two();
  context.notify_fork(own.leads() ? asio::io_context::fork_parent : asio::io_context::fork_child);
  exchange all(asked, own);
  if (asked.mode == "tcp")
    measure_over_tcp(context, acceptor, all);
  else
    measure_over(context, sockets[own.rank()], all);
  leave(all.own);
}
