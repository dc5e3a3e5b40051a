// SPDX-License-Identifier: Apache-2.0
#include "link/timed_stream.hpp"

#include <boost/asio/read.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

namespace weft::detail {

namespace asio = boost::asio;

namespace {

// What an executor that keeps up may be late by.
constexpr std::chrono::seconds usual_lateness{1};

}  // namespace

timed_stream::timed_stream(stream_socket socket, const asio::any_io_executor& strand, time_point deadline)
    : state_(new state{std::move(socket), asio::steady_timer(strand, deadline)}) {
  strike(state_);
}

// A deadline that strikes late tells of an executor that was held, by a handler or a busy machine. What the other end
// has said meanwhile is there and unread, so it gets the time back.
void timed_stream::strike(const std::shared_ptr<state>& when) {
  when->timer.async_wait([weak = std::weak_ptr(when)](const boost::system::error_code& code) {
    const auto alive = weak.lock();
    if (code || !alive) return;
    const auto lateness = std::chrono::steady_clock::now() - alive->timer.expiry();
    if (lateness > usual_lateness) {
      alive->timer.expires_after(lateness);
      return strike(alive);
    }
    alive->expired = true;
    boost::system::error_code ignored;
    alive->socket.close(ignored);
  });
}

timed_stream::~timed_stream() {
  state_->timer.cancel();
}

asio::awaitable<void> timed_stream::read(std::span<std::byte> bytes) {
  co_await asio::async_read(state_->socket, asio::buffer(bytes.data(), bytes.size()), asio::use_awaitable);
}

asio::awaitable<void> timed_stream::write(std::span<const std::byte> bytes) {
  co_await asio::async_write(state_->socket, asio::buffer(bytes.data(), bytes.size()), asio::use_awaitable);
}

void timed_stream::close() {
  boost::system::error_code ignored;
  state_->socket.close(ignored);
}

stream_socket timed_stream::release() {
  state_->timer.cancel();
  return std::move(state_->socket);
}

}  // namespace weft::detail
