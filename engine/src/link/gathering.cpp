// SPDX-License-Identifier: Apache-2.0
#include "link/gathering.hpp"

#include "link/rank_list.hpp"

#include <weft/engine/error.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <utility>

namespace weft::detail {
namespace {

namespace asio = boost::asio;
using error_code = boost::system::error_code;

// A contribution is one short message.
constexpr std::chrono::seconds contribution_timeout{10};
// Ranks read what they are told at once, unless they are stopped or dead.
constexpr std::chrono::seconds last_word_timeout{5};
// Enough to see what is wrong.
constexpr std::size_t most_notes = 8;

}  // namespace

gathering::gathering(const asio::any_io_executor& strand, int world_size, contribution own)
    : strand_(strand),
      deadline_(began_ + own.patience),
      changed_(strand),
      cards_(static_cast<std::size_t>(world_size)),
      who_(cards_.size()) {
  add(0, own);
}

void gathering::add(int rank, const contribution& what) {
  const auto index = static_cast<std::size_t>(rank);
  cards_[index] = what.card;
  who_[index] = what.who;
  ++joined_;
  deadline_ = std::min(deadline_, clock::now() + what.patience);
  changed_.cancel();
}

void gathering::remove(int rank) {
  cards_[static_cast<std::size_t>(rank)].reset();
  --joined_;
}

void gathering::note(const std::string& text) {
  if (notes_.size() < most_notes) notes_.insert(text);
}

// ---- rank 0 itself

std::string gathering::missing() const {
  return list_ranks(missing_ranks(cards_)) + " of " + std::to_string(cards_.size());
}

asio::awaitable<void> gathering::wait() {
  while (!complete() && clock::now() < deadline_) {
    error_code woken;
    changed_.expires_at(deadline_);
    co_await changed_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
}

reply gathering::outcome() const {
  reply result;
  if (complete()) {
    for (const auto& card : cards_) result.texts.push_back(*card);
    return result;
  }
  result.kind = reply_kind::timed_out;
  std::string text =
      "rendezvous: " +
      describe_missing(cards_, std::chrono::duration_cast<std::chrono::milliseconds>(clock::now() - began_));
  for (const std::string& note : notes_) text += "; " + note;
  result.texts.push_back(std::move(text));
  return result;
}

asio::awaitable<reply> gathering::conclude() {
  reply result = outcome();
  last_word_ = encode(result);
  life_ = life::ended;
  untold_ = waiting_.size();
  error_code ignored;
  for (stream_socket* socket : waiting_) socket->cancel(ignored);
  // Each of them has its own deadline.
  while (untold_ != 0) {
    error_code woken;
    changed_.expires_at(asio::steady_timer::time_point::max());
    co_await changed_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
  co_return result;
}

void gathering::abandon() {
  life_ = life::abandoned;
  error_code ignored;
  for (stream_socket* socket : waiting_) socket->close(ignored);
}

// ---- the others

void gathering::take(const hello& client, stream_socket socket) {
  asio::co_spawn(strand_, serve(shared_from_this(), client, std::move(socket)), asio::detached);
}

// `self` keeps the gathering alive for as long as the coroutine lives.
asio::awaitable<void> gathering::serve(std::shared_ptr<gathering> self, hello client, stream_socket socket) {
  (void)self;
  try {
    timed_stream stream(std::move(socket), strand_, clock::now() + contribution_timeout);
    const std::optional<int> rank = co_await admit(client, stream);
    if (!rank) co_return;
    stream_socket idle = stream.release();
    co_await stay(idle);
    if (life_ == life::ended)
      co_await tell(std::move(idle));
    else
      remove(*rank);
  } catch (const std::exception& problem) {
    note("rank " + std::to_string(client.from) + " broke off: " + problem.what());
  }
}

std::string gathering::conflict(const hello& client, const contribution& what) const {
  const std::string newcomer =
      what.who + " joins as rank " + std::to_string(client.from) + " of " + std::to_string(client.world_size);
  const int world_size = static_cast<int>(cards_.size());
  if (client.world_size != world_size)
    return newcomer + ", but " + who_[0] + ", which is rank 0, has a world size of " + std::to_string(world_size);
  if (client.from <= 0 || client.from >= world_size) return newcomer + ": there is no such rank beside rank 0";
  const auto index = static_cast<std::size_t>(client.from);
  if (cards_[index]) return newcomer + ", but " + who_[index] + " has joined as that rank already";
  return {};
}

// Nothing where the client was refused.
asio::awaitable<std::optional<int>> gathering::admit(const hello& client, timed_stream& stream) {
  const contribution what = co_await read_contribution(stream);
  if (life_ != life::open) co_return std::nullopt;
  const std::string problem = conflict(client, what);
  if (problem.empty()) {
    add(client.from, what);
    co_return client.from;
  }
  note(problem);
  reply refusal;
  refusal.kind = reply_kind::conflict;
  refusal.texts.push_back(problem);
  const std::vector<std::byte> bytes = encode(refusal);
  co_await stream.write(bytes);
  co_return std::nullopt;
}

// Until the end of the gathering, or until the rank hangs up. No rank has anything to say meanwhile.
asio::awaitable<void> gathering::stay(stream_socket& socket) {
  waiting_.insert(&socket);
  error_code woken;
  do {
    co_await socket.async_wait(stream_socket::wait_read, asio::redirect_error(asio::use_awaitable, woken));
  } while (!woken && life_ == life::open && !is_readable(socket));
  waiting_.erase(&socket);
}

// Who cannot be told any more learns it from its broken connection.
asio::awaitable<void> gathering::tell(stream_socket socket) {
  timed_stream stream(std::move(socket), strand_, clock::now() + last_word_timeout);
  try {
    co_await stream.write(last_word_);
  } catch (const boost::system::system_error&) {
    stream.close();
  }
  if (--untold_ == 0) changed_.cancel();
}

}  // namespace weft::detail
