// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/engine/error.hpp>
#include <weft/engine/rendezvous.hpp>

#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/// A rendezvous over a store of one's own, here Redis: each rank writes its card under a key of its own, and reads the
/// keys of all until all are there.
namespace weft::testing {

/// As much of Redis' protocol as that takes.
class redis_connection {
 public:
  using value = std::optional<std::string>;  // or nil
  using values = std::vector<value>;

  explicit redis_connection(const boost::asio::any_io_executor& executor) : socket_(executor) {}

  boost::asio::awaitable<void> open(std::string path) {
    const boost::asio::local::stream_protocol::endpoint server(path);
    co_await socket_.async_connect(server, boost::asio::use_awaitable);
  }
  void close() { socket_.close(); }

  /// A command of several words, and its answer: one value, or as many as an array has.
  boost::asio::awaitable<values> ask(std::vector<std::string> words) {
    std::string command = "*" + std::to_string(words.size()) + "\r\n";
    for (const std::string& word : words) command += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
    co_await boost::asio::async_write(socket_, boost::asio::buffer(command), boost::asio::use_awaitable);
    values answer;
    std::string head = co_await read_line();
    std::size_t parts = 1;
    if (head[0] == '*') {
      parts = std::stoul(head.substr(1));
      if (parts != 0) head = co_await read_line();
    }
    for (;;) {
      value part = co_await read_value(head);
      answer.push_back(std::move(part));
      if (answer.size() >= parts) break;
      head = co_await read_line();
    }
    co_return answer;
  }

 private:
  boost::asio::awaitable<std::string> read_line() {
    const std::size_t size = co_await boost::asio::async_read_until(socket_, boost::asio::dynamic_buffer(input_),
                                                                    "\r\n", boost::asio::use_awaitable);
    co_return take(size);
  }

  boost::asio::awaitable<value> read_value(std::string head) {
    if (head[0] == '-') throw std::runtime_error("redis: " + head.substr(1));
    if (head[0] != '$') co_return head.substr(1);
    const int size = std::stoi(head.substr(1));
    if (size < 0) co_return std::nullopt;
    const std::size_t wanted = static_cast<std::size_t>(size) + 2;
    if (input_.size() < wanted)
      co_await boost::asio::async_read(socket_, boost::asio::dynamic_buffer(input_),
                                       boost::asio::transfer_exactly(wanted - input_.size()),
                                       boost::asio::use_awaitable);
    co_return take(wanted);
  }

  /// That many bytes of the input, without the line's end that they close with.
  std::string take(std::size_t size) {
    std::string text = input_.substr(0, size - 2);
    input_.erase(0, size);
    return text;
  }

  boost::asio::local::stream_protocol::socket socket_;
  std::string input_;
};

class redis_rendezvous final : public rendezvous {
 public:
  redis_rendezvous(std::string socket_path, std::string job) : path_(std::move(socket_path)), job_(std::move(job)) {}

  boost::asio::awaitable<std::vector<std::string>> exchange(int rank, int world_size, std::string card,
                                                            std::chrono::milliseconds timeout) override {
    // The deadline strikes on the strand that the connection is used on.
    const auto strand = boost::asio::make_strand(co_await boost::asio::this_coro::executor);
    co_return co_await boost::asio::co_spawn(strand, meet(rank, world_size, std::move(card), timeout),
                                             boost::asio::use_awaitable);
  }

 private:
  using values = redis_connection::values;

  boost::asio::awaitable<std::vector<std::string>> meet(int rank, int world_size, std::string card,
                                                        std::chrono::milliseconds timeout) {
    const auto executor = co_await boost::asio::this_coro::executor;
    const auto redis = std::make_shared<redis_connection>(executor);
    boost::asio::steady_timer deadline(executor, timeout);
    deadline.async_wait([redis](const boost::system::error_code& code) {
      if (!code) redis->close();
    });
    values cards(static_cast<std::size_t>(world_size));
    try {
      co_await redis->open(path_);
      co_await contribute(*redis, rank, std::move(card), timeout);
      while (!missing(cards).empty()) cards = co_await read_all(*redis, world_size);
    } catch (const boost::system::system_error&) {
      if (deadline.expiry() > std::chrono::steady_clock::now()) throw;
      throw error(errc::rendezvous_timed_out, "rendezvous in Redis: did not come within " +
                                                  std::to_string(timeout.count()) + " ms: rank" + missing(cards));
    }
    std::vector<std::string> all;
    for (const auto& one : cards) all.push_back(*one);
    co_return all;
  }

  /// For this meeting only: the store forgets it by itself.
  boost::asio::awaitable<void> contribute(redis_connection& redis, int rank, std::string card,
                                          std::chrono::milliseconds timeout) {
    std::vector<std::string> command{"SET", key(rank), std::move(card), "NX", "PX", std::to_string(timeout.count())};
    const values answer = co_await redis.ask(std::move(command));
    if (!answer.front())
      throw error(errc::rendezvous_conflict, "rendezvous in Redis: \"" + key(rank) +
                                                 "\" is there already: is another " + "process rank " +
                                                 std::to_string(rank) + " of this job?");
  }

  boost::asio::awaitable<values> read_all(redis_connection& redis, int world_size) {
    boost::asio::steady_timer pause(co_await boost::asio::this_coro::executor, between_looks);
    co_await pause.async_wait(boost::asio::use_awaitable);
    std::vector<std::string> command{"MGET"};
    for (int rank = 0; rank < world_size; ++rank) command.push_back(key(rank));
    values cards = co_await redis.ask(std::move(command));
    co_return cards;
  }

  [[nodiscard]] static std::string missing(const values& cards) {
    std::string ranks;
    for (std::size_t rank = 0; rank < cards.size(); ++rank)
      if (!cards[rank]) ranks += " " + std::to_string(rank);
    return ranks;
  }

  [[nodiscard]] std::string key(int rank) const { return job_ + ":" + std::to_string(rank); }

  static constexpr std::chrono::milliseconds between_looks{10};

  std::string path_;
  std::string job_;
};

}  // namespace weft::testing
