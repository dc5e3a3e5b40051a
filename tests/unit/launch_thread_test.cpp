// SPDX-License-Identifier: Apache-2.0
// The launch thread between a log that the test writes and a device that the test decides about.
#include "executor/launch_thread.hpp"

#include <weft/engine/peer.hpp>

#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/connect_pair.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace asio = boost::asio;
namespace protocol = weft::protocol;
using namespace weft::detail;
using namespace std::chrono_literals;
using kind = launch_news::kind;

namespace {

constexpr communicator_id communicator = 5;
constexpr int self = 0;
constexpr int other = 1;

/// A group on it has ended as soon as it is issued, but is reported only by `poll`. A set-up ends only by an abort.
class silent_device final : public device {
 public:
  silent_device(asio::io_context& context, device_events& events) : context_(context), events_(events) {}

  [[nodiscard]] std::string_view name() const noexcept override { return "silent"; }
  [[nodiscard]] std::shared_ptr<device_memory> memory() const override { return nullptr; }
  [[nodiscard]] std::string card() const override { return {}; }
  void set_peers(std::vector<std::string>, int, std::uint64_t) override {}
  [[nodiscard]] unique_id make_unique_id() override { return {}; }

  void create(communicator_id, std::span<const int>, const unique_id&) override { setting_up_ = true; }
  void connect(communicator_id, int, int) override { setting_up_ = true; }
  void destroy(communicator_id) override { setting_up_ = true; }
  void abort_set_up(boost::system::error_code code) override { end_set_up(code); }

  void lend() override {}
  void issue(communicator_id, group_id group, std::span<const device_transfer> transfers) override {
    issued_.emplace(group, transfers.size());
  }
  bool poll() override { return end_group({}); }

  void refuse(communicator_id, int, bool) override {}
  void abort(communicator_id, boost::system::error_code code) override {
    end_set_up(code);
    asio::post(context_, [this, code] { (void)end_group(code); });
  }
  void on_rank_gone(int, boost::system::error_code) override {}
  void abort_all(boost::system::error_code code) override { end_set_up(code); }

 private:
  void end_set_up(boost::system::error_code code) {
    if (std::exchange(setting_up_, false)) asio::post(context_, [this, code] { events_.on_set_up(code); });
  }
  bool end_group(boost::system::error_code code) {
    const auto ended = std::exchange(issued_, {});
    if (!ended) return false;
    events_.on_group_done(communicator, ended->first, std::vector(ended->second, code));
    return true;
  }

  asio::io_context& context_;
  device_events& events_;
  bool setting_up_ = false;
  std::optional<std::pair<group_id, std::size_t>> issued_;  ///< the group and its size
};

/// The engine's and the sequencer's side of a launch thread.
class fixture final : public launch_events {
 public:
  explicit fixture(std::chrono::nanoseconds launch_timeout, std::chrono::milliseconds set_up_timeout = 60s)
      : launched_([](asio::io_context& context,
                     device_events& events) { return std::make_unique<silent_device>(context, events); },
                  set_up_timeout, launch_timeout, transfers, *this) {
    asio::local::stream_protocol::socket far(context_);
    asio::local::connect_pair(log_, far);
    launched_.start(std::move(far), {"", ""}, self, 1);
  }

  void append(const protocol::log_entry& entry) {
    std::vector<std::byte> body;
    const log_message type = encode(entry, body);
    std::vector<std::byte> message;
    append_message(message, static_cast<std::uint8_t>(type), body);
    asio::write(log_, asio::buffer(message));
  }

  /// The next problem or end of a transfer; other news is dropped.
  launch_news await() { return await(kind::transferred); }
  /// The next problem or news of that kind.
  launch_news await(kind wanted) {
    std::unique_lock lock(mutex_);
    for (;;) {
      for (launch_news& each : launched_.take_news())
        if (each.what == kind::problem || each.what == wanted) return std::move(each);
      arrived_.wait(lock, [this] { return std::exchange(any_, false); });
    }
  }

  transfer_table transfers;

 private:
  void on_launch_news() override {
    const std::lock_guard lock(mutex_);
    any_ = true;
    arrived_.notify_one();
  }

  std::mutex mutex_;
  std::condition_variable arrived_;
  bool any_ = false;
  asio::io_context context_;
  asio::local::stream_protocol::socket log_{context_};
  launch_thread launched_;
};

}  // namespace

TEST_CASE("a batch that has ended, but was not reported before its launch_timeout, is not late") {
  fixture rank(1ns);
  constexpr protocol::operation_id send = 3;
  rank.transfers.publish(send, other, {});
  rank.append({1, communicator, protocol::batch{{{.source = self, .destination = other, .send = send}}}});
  const launch_news ended = rank.await();
  CHECK_MESSAGE(ended.what == kind::transferred, ended.text);
  CHECK(ended.operation == send);
  CHECK_MESSAGE(!ended.code, ended.code.message());
}

TEST_CASE("a transfer that the log says is longer than its memory ends without being carried out") {
  fixture rank(weft::no_limit);
  constexpr protocol::operation_id send = 3;
  std::byte memory{};
  const memory_piece piece{&memory, 1};
  rank.transfers.publish(send, other, {.pieces = std::span(&piece, 1)});
  rank.append({1, communicator, protocol::batch{{{.source = self, .destination = other, .send = send, .bytes = 2}}}});
  const launch_news ended = rank.await();
  CHECK(ended.operation == send);
  CHECK(ended.code == weft::errc::transfer_aborted);
}

TEST_CASE("what is sent to one rank is not carried to another, whatever the log says") {
  fixture rank(weft::no_limit);
  constexpr protocol::operation_id send = 3;
  rank.transfers.publish(send, self, {});
  rank.append({1, communicator, protocol::batch{{{.source = self, .destination = other, .send = send}}}});
  CHECK(rank.await(kind::batch_issued).what == kind::batch_issued);
  CHECK(rank.transfers.take(send, self));
}

TEST_CASE("the log is lost where it names a rank that there is not, or a number twice") {
  for (const auto& [number, destination] : {std::pair(2, 7), std::pair(1, other)}) {
    fixture rank(weft::no_limit);
    rank.append({1, communicator, protocol::batch{}});
    rank.append({static_cast<std::uint64_t>(number), communicator, protocol::connect{self, destination}});
    CHECK(rank.await(kind::log_lost).what == kind::log_lost);
  }
}

TEST_CASE("the log says of a set-up that another rank has aborted what it was for, and nothing of transfers") {
  fixture rank(weft::no_limit);
  rank.append({1, communicator, protocol::create{.members = {self, other}}});
  rank.append({2, communicator, protocol::abort{}});
  CHECK(rank.await().text == "creating communicator 5 failed: it was given up, because the communicator is aborted");
}

TEST_CASE("the log says of a set-up that took too long which limit that was") {
  fixture rank(weft::no_limit, 1ms);
  rank.append({1, communicator, protocol::connect{.source = other, .destination = self}});
  CHECK(rank.await().text ==
        "connecting rank 1 to rank 0 on communicator 5 failed: it took longer than set_up_timeout");
}
