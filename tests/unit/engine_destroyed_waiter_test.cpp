// SPDX-License-Identifier: Apache-2.0
// A coroutine that is destroyed while it waits, in each state that its operation can be in.
#include "relay.hpp"
#include "waiting.hpp"

#include <weft/engine/communicator.hpp>
#include <weft/engine/device_buffer.hpp>
#include <weft/engine/engine.hpp>

#include <doctest/doctest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>

#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace asio = boost::asio;
using weft::testing::held_coroutine;
using weft::testing::line;
using weft::testing::relay;
using weft::testing::relayed_rendezvous;
using weft::testing::running;
using weft::testing::turn;

namespace {

constexpr std::size_t large = 500'000;  // of ints: more than sockets hold
constexpr std::uint64_t tag = 1;
constexpr std::uint64_t other_tag = 2;

/// Where the operation stands when its coroutine goes.
enum class state {
  posted,     ///< the other end has not been started
  matched,    ///< its match is not in the log
  in_log,     ///< and not launched at this end
  launched,   ///< and not finished
  streaming,  ///< on the host route
};

/// What is tried.
struct attempt {
  state at;
  weft::route route;
  bool sends;  ///< the end whose coroutine goes
  bool owned;  ///< its memory is the engine's

  /// Otherwise it is carried out.
  [[nodiscard]] bool is_withdrawn() const { return at == state::posted || at == state::matched; }
};

/// Rank 0, which sends, rank 1, which receives, and what either dials through.
struct two_ranks {
  weft::communicator sender;
  weft::communicator receiver;
  relay& sender_lines;
  relay& receiver_lines;
};

weft::engine_options options_of(int rank, std::shared_ptr<weft::rendezvous> meeting) {
  weft::engine_options options;
  options.rank = rank;
  options.world_size = 2;
  options.meeting = std::move(meeting);
  options.transport = weft::transport::unix_socket;
  return options;
}

/// Both ranks on one loop, so that nothing happens between two steps of `body` that it does not wait for.
void with_two_ranks(const std::function<asio::awaitable<void>(two_ranks&)>& body) {
  using namespace asio::experimental::awaitable_operators;
  relay sender_lines, receiver_lines;
  asio::io_context context(1);
  const auto meeting = weft::make_in_process_rendezvous(2);
  weft::engine first(context.get_executor(),
                     options_of(0, std::make_shared<relayed_rendezvous>(meeting, sender_lines)));
  weft::engine second(context.get_executor(),
                      options_of(1, std::make_shared<relayed_rendezvous>(meeting, receiver_lines)));
  const auto live = [&]() -> asio::awaitable<void> {
    auto [sender, receiver] = co_await (first.join() && second.join());
    two_ranks both{sender, receiver, sender_lines, receiver_lines};
    co_await body(both);
    co_await (first.close() && second.close());
  };
  std::exception_ptr problem;
  asio::co_spawn(context, live, [&](const std::exception_ptr& thrown) {
    problem = thrown;
    if (thrown) context.stop();
  });
  context.run();
  if (problem) std::rethrow_exception(problem);
}

/// One message from one rank to the other, awaited at both.
asio::awaitable<void> pass(two_ranks& with, weft::route route, std::uint64_t under) {
  const int mine = 3;
  int got = 0;
  running sending(with.sender.send(std::span(&mine, 1), weft::to(1, under).via(route)));
  co_await with.receiver.recv(std::span(&got, 1), weft::from(0, under));
  CHECK(got == 3);
  while (!sending.ended) co_await turn();
  CHECK_FALSE(*sending.ended);
}

asio::awaitable<void> until_launched(const weft::communicator& comm, std::uint64_t batches) {
  while (comm.stats().batches < batches) co_await turn();
}

/// A large transfer that is started at both ends.
struct transfer {
  transfer(two_ranks& with, weft::route route, std::uint64_t under)
      : sending(with.sender.send(content, weft::to(1, under).via(route))),
        receiving(with.receiver.recv(got, weft::from(0, under))) {}

  asio::awaitable<void> arrive() {
    while (!sending.ended || !receiving.ended) co_await turn();
    CHECK_FALSE(*sending.ended);
    CHECK_FALSE(*receiving.ended);
    CHECK(got == content);
  }

  std::vector<int> content = std::vector<int>(large, 4);
  std::vector<int> got = std::vector<int>(large);
  running<weft::send_operation> sending;
  running<weft::receive_operation> receiving;
};

class experiment {
 public:
  experiment(two_ranks& with, const attempt& what) : with_(with), what_(what) {}

  asio::awaitable<void> run() {
    co_await pass(with_, what_.route, other_tag);  // opens what the route needs
    co_await come_to_state();
    victim_.frame.destroy();
    co_await until_told();
    with_.sender_lines.release();
    with_.receiver_lines.release();
    for (const auto& one : before_) co_await one->arrive();
    if (what_.is_withdrawn())
      co_await meet_another();
    else
      co_await see_it_carried_out();
    co_await pass(with_, what_.route, tag);
    CHECK(with_.sender.stats().unmatched + with_.receiver.stats().unmatched == 0);
  }

 private:
  asio::awaitable<void> come_to_state() {
    const std::uint64_t sent = with_.sender.stats().batches;
    const std::uint64_t received = with_.receiver.stats().batches;
    if (what_.at == state::posted) {
      start_victim();
    } else if (what_.at == state::matched) {
      // The sequencer appends no third batch while two are unfinished.
      with_.sender_lines.hold(line::device, 1);
      for (int i = 0; i < 2; ++i) before_.push_back(std::make_unique<transfer>(with_, what_.route, other_tag));
      co_await until_launched(with_.sender, sent + 2);
      co_await until_launched(with_.receiver, received + 2);
      start_both();
      co_await pass(with_, weft::route::inlined, other_tag);  // behind the announcement
    } else if (what_.at == state::in_log) {
      (what_.sends ? with_.sender_lines : with_.receiver_lines).hold(line::log, 0);
      start_both();
      co_await until_launched(what_.sends ? with_.receiver : with_.sender, (what_.sends ? received : sent) + 1);
    } else if (what_.at == state::launched) {
      with_.sender_lines.hold(line::device, 1);
      start_both();
      co_await until_launched(with_.sender, sent + 1);
      co_await until_launched(with_.receiver, received + 1);
    } else {
      start_both();
      while (got_.front() == 0) co_await turn();
      CHECK(got_.back() == 0);
    }
    co_await pass(with_, weft::route::inlined, other_tag);
    CHECK_FALSE(is_partner_done());
  }

  /// The receiver, and then the sequencer, have heard what there was to say.
  asio::awaitable<void> until_told() {
    co_await pass(with_, weft::route::inlined, other_tag);
    running joining(with_.sender.split(weft::no_color));
    co_await with_.receiver.split(weft::no_color);
    while (!joining.ended) co_await turn();
  }

  void start_both() {
    start_victim();
    if (what_.sends)
      receiving_.emplace(with_.receiver.recv(got_, weft::from(0, tag)));
    else
      sending_.emplace(with_.sender.send(content_, weft::to(1, tag).via(what_.route)));
  }

  void start_victim() {
    if (what_.sends)
      victim_ = what_.owned ? send_owned() : send();
    else
      victim_ = what_.owned ? receive_owned() : receive();
  }
  held_coroutine send() { co_await with_.sender.send(content_, weft::to(1, tag).via(what_.route)); }
  held_coroutine send_owned() {
    co_await with_.sender.send(std::vector<int>(content_), weft::to(1, tag).via(what_.route));
  }
  held_coroutine receive() { co_await with_.receiver.recv(got_, weft::from(0, tag)); }
  held_coroutine receive_owned() {
    weft::device_buffer own = with_.receiver.device_buffer(large * sizeof(int), weft::element_type::i32);
    co_await with_.receiver.recv(own, weft::from(0, tag));
  }

  [[nodiscard]] bool is_partner_done() const {
    return (sending_ && sending_->ended) || (receiving_ && receiving_->ended);
  }

  /// Of a withdrawn operation the other end is as if it had never been: it waits, and whoever comes next meets it.
  asio::awaitable<void> meet_another() {
    CHECK_FALSE(is_partner_done());
    // Until its receiver has heard of it a withdrawn message can still be received.
    while (what_.sends && with_.receiver.stats().unmatched != 0) co_await turn();
    const std::vector<int> untouched(large);
    if (!what_.sends) CHECK(got_ == untouched);
    std::vector<int> other(large, 9);
    std::vector<int> got_by_another(large);
    if (!sending_) sending_.emplace(with_.sender.send(other, weft::to(1, tag).via(what_.route)));
    if (!receiving_) receiving_.emplace(with_.receiver.recv(got_by_another, weft::from(0, tag)));
    while (!sending_->ended || !receiving_->ended) co_await turn();
    CHECK_FALSE(*sending_->ended);
    CHECK_FALSE(*receiving_->ended);
    if (what_.sends)
      CHECK((what_.at == state::posted ? got_by_another : got_) == other);
    else
      CHECK(got_by_another == (what_.at == state::posted ? other : content_));
  }

  asio::awaitable<void> see_it_carried_out() {
    while (!is_partner_done()) co_await turn();
    const boost::system::error_code code = sending_ ? *sending_->ended : *receiving_->ended;
    CHECK_FALSE(code);
    co_await pass(with_, what_.route, other_tag);  // behind it
    if (what_.sends || !what_.owned) CHECK(got_ == content_);
  }

  two_ranks& with_;
  attempt what_;
  std::vector<int> content_ = std::vector<int>(large, 5);
  std::vector<int> got_ = std::vector<int>(large);
  held_coroutine victim_{};
  std::vector<std::unique_ptr<transfer>> before_;
  std::optional<running<weft::send_operation>> sending_;       ///< the other end, where the victim receives
  std::optional<running<weft::receive_operation>> receiving_;  ///< and where it sends
};

void try_it(const attempt& what) {
  CAPTURE(weft::name(what.route));
  CAPTURE(what.sends);
  CAPTURE(what.owned);
  const auto body = [&what](two_ranks& with) -> asio::awaitable<void> {
    experiment one(with, what);
    co_await one.run();
  };
  with_two_ranks(body);
}

void try_all(state at, std::initializer_list<weft::route> routes) {
  for (const auto route : routes)
    for (const bool sends : {false, true})
      for (const bool owned : {false, true}) try_it({at, route, sends, owned});
}

}  // namespace

TEST_CASE("whose coroutine goes before there is a match is withdrawn, and its memory is free") {
  try_all(state::posted, {weft::route::host, weft::route::device, weft::route::pair});
}

TEST_CASE(
    "whose coroutine goes after the match and before the log has it is withdrawn, and the other end meets another") {
  try_all(state::matched, {weft::route::device, weft::route::pair});
}

TEST_CASE("whose coroutine goes when the log has its transfer, not launched yet, is carried out") {
  try_all(state::in_log, {weft::route::device, weft::route::pair});
}

TEST_CASE("whose coroutine goes when its transfer is launched is carried out") {
  try_all(state::launched, {weft::route::device, weft::route::pair});
}

TEST_CASE("whose coroutine goes while its bytes arrive on the link is carried out") {
  for (const bool sends : {false, true}) try_it({state::streaming, weft::route::host, sends, false});
  try_it({state::streaming, weft::route::host, true, true});
}
