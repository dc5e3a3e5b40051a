// SPDX-License-Identifier: Apache-2.0
#include "link/connect.hpp"
#include "link/socket_rendezvous.hpp"

#include <weft/engine/error.hpp>
#include <weft/engine/rendezvous.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <doctest/doctest.h>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <future>
#include <optional>
#include <set>
#include <thread>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using weft::rendezvous;
using meeting_place = std::shared_ptr<rendezvous>;

namespace {

struct outcome {
  std::vector<std::string> cards;
  boost::system::error_code code;
  std::string text;

  [[nodiscard]] bool says(const std::string& part) const { return text.find(part) != std::string::npos; }
};

std::string card_of(int rank) {
  return "card of rank " + std::to_string(rank);
}

asio::awaitable<void> take_part(outcome& result, meeting_place place, int rank, int world_size,
                                std::chrono::milliseconds timeout) {
  try {
    result.cards = co_await place->exchange(rank, world_size, card_of(rank), timeout);
  } catch (const boost::system::system_error& problem) {
    result.code = problem.code();
    result.text = problem.what();
  }
}

/// One rank: a thread with a loop of its own.
class participant {
 public:
  participant(meeting_place place, int rank, int world_size, std::chrono::milliseconds timeout = 20s)
      : thread_([this, place = std::move(place), rank, world_size, timeout] {
          asio::io_context context;
          asio::co_spawn(context, take_part(result_, place, rank, world_size, timeout),
                         [](const std::exception_ptr&) {});
          context.run();
        }) {}
  ~participant() {
    if (thread_.joinable()) thread_.join();
  }

  const outcome& wait() {
    thread_.join();
    return result_;
  }

 private:
  outcome result_;
  std::thread thread_;
};

std::string unique_unix(const char* what) {
  static int number = 0;
  return "unix:weft-rendezvous-test-" + std::to_string(::getpid()) + "-" + what + std::to_string(++number);
}

int free_port() {
  asio::io_context context;
  weft::detail::acceptor probe(context.get_executor(), weft::detail::address::of_tcp("127.0.0.1", 0), {.job_key = "k"},
                               {});
  return probe.local_address().port;
}

std::string free_tcp() {
  return "127.0.0.1:" + std::to_string(free_port());
}

/// Gives each participant its way to the place where all meet.
using way = std::function<meeting_place()>;

way over(const std::string& address, const std::string& key = {}) {
  return [=] { return weft::make_socket_rendezvous(address, key); };
}

way in_process(int world_size) {
  return [place = weft::make_in_process_rendezvous(world_size)] { return place; };
}

void check_all_meet(const way& go, int world_size) {
  std::vector<std::string> expected;
  expected.reserve(static_cast<std::size_t>(world_size));
  for (int rank = 0; rank < world_size; ++rank) expected.push_back(card_of(rank));
  std::vector<std::unique_ptr<participant>> ranks;
  // The last first, so that rank 0 comes late.
  for (int rank = world_size - 1; rank >= 0; --rank)
    ranks.push_back(std::make_unique<participant>(go(), rank, world_size));
  for (const auto& rank : ranks) {
    const outcome& result = rank->wait();
    CHECK_MESSAGE(!result.code, result.text);
    CHECK(result.cards == expected);
  }
}

}  // namespace

TEST_CASE("all ranks obtain all cards, however they meet, and can meet again") {
  for (const way& go : {in_process(4), over(unique_unix("all")), over(unique_unix("key"), "key"), over(free_tcp()),
                        over(free_tcp(), "key"), over("localhost:" + std::to_string(free_port()), "key")}) {
    check_all_meet(go, 4);
    check_all_meet(go, 4);
  }
}

TEST_CASE("a rank alone meets itself") {
  check_all_meet(in_process(1), 1);
  check_all_meet(over(unique_unix("alone")), 1);
}

TEST_CASE("many ranks meet") {
  check_all_meet(in_process(24), 24);
  check_all_meet(over(unique_unix("many")), 24);
}

TEST_CASE("at the earliest deadline all who have come are told who is missing") {
  for (const way& go : {in_process(5), over(unique_unix("missing")), over(free_tcp(), "key")}) {
    participant zero(go(), 0, 5);
    participant patient(go(), 3, 5);
    participant hasty(go(), 1, 5, 200ms);
    for (participant* one : {&zero, &patient, &hasty}) {
      const outcome& result = one->wait();
      CHECK(result.code == weft::errc::rendezvous_timed_out);
      CHECK_MESSAGE(result.says("ranks 2, 4 of 5"), result.text);
    }
  }
}

TEST_CASE("without rank 0 the others say that it is missing") {
  const outcome result = participant(over(unique_unix("zero"))(), 1, 2, 100ms).wait();
  CHECK(result.code == weft::errc::rendezvous_timed_out);
  CHECK(result.says("rank 0"));
}

TEST_CASE("the newcomer of two with one rank is refused, and the job goes on") {
  const way go = over(unique_unix("twice"));
  std::vector<std::string> expected{card_of(0), card_of(1), card_of(2)};
  participant zero(go(), 0, 3);
  // Whichever of the two comes second is the newcomer, and fails before rank 2 comes.
  std::vector<std::unique_ptr<participant>> twins;
  std::vector<outcome> results(2);
  std::atomic<int> failed = 0;
  std::vector<std::thread> threads;
  threads.reserve(results.size());
  for (outcome& result : results)
    threads.emplace_back([&, place = go()] {
      asio::io_context context;
      asio::co_spawn(context, take_part(result, place, 1, 3, 20s), [&](const std::exception_ptr&) {
        if (result.code) {
          ++failed;
          failed.notify_one();
        }
      });
      context.run();
    });
  failed.wait(0);
  participant two(go(), 2, 3);
  CHECK(zero.wait().cards == expected);
  CHECK(two.wait().cards == expected);
  for (std::thread& thread : threads) thread.join();
  const outcome& refused = results[0].code ? results[0] : results[1];
  const outcome& joined = results[0].code ? results[1] : results[0];
  CHECK(refused.code == weft::errc::rendezvous_conflict);
  CHECK_MESSAGE(refused.says("rank 1 of 3"), refused.text);
  CHECK_MESSAGE(refused.says("has joined as that rank already"), refused.text);
  CHECK(joined.cards == expected);
}

TEST_CASE("in one process the newcomer of two with one rank is refused, and the job goes on") {
  const meeting_place place = weft::make_in_process_rendezvous(2);
  asio::io_context context;
  outcome first;
  outcome second;
  outcome other;
  for (outcome* one : {&first, &second})
    asio::co_spawn(context, take_part(*one, place, 1, 2, 20s), [](const std::exception_ptr&) {});
  asio::co_spawn(context, take_part(other, place, 0, 2, 20s), [](const std::exception_ptr&) {});
  context.run();
  CHECK(second.code == weft::errc::rendezvous_conflict);
  CHECK(second.says("rank 1"));
  CHECK(first.cards == std::vector{card_of(0), card_of(1)});
  CHECK(other.cards == first.cards);
}

TEST_CASE("a rank with another world size is refused by name, and the job goes on") {
  const way go = over(unique_unix("size"));
  participant zero(go(), 0, 2);
  const outcome stray = participant(go(), 1, 7).wait();
  CHECK(stray.code == weft::errc::rendezvous_conflict);
  CHECK_MESSAGE(stray.says("rank 1 of 7"), stray.text);
  CHECK_MESSAGE(stray.says("a world size of 2"), stray.text);
  CHECK(participant(go(), 1, 2).wait().cards.size() == 2);
  CHECK(zero.wait().cards.size() == 2);

  const outcome in_one_process = participant(in_process(2)(), 1, 3).wait();
  CHECK(in_one_process.code == weft::errc::rendezvous_conflict);
  CHECK(in_one_process.says("world size 3 where 2"));
}

TEST_CASE("a rank with another key fails at once, and the job goes on and names it if it fails") {
  const std::string where = free_tcp();
  participant zero(over(where, "right")(), 0, 2);
  CHECK(participant(over(where, "wrong")(), 1, 2).wait().code == weft::errc::authentication_failed);
  CHECK(participant(over(where, "right")(), 1, 2).wait().cards.size() == 2);
  CHECK(zero.wait().cards.size() == 2);

  participant alone(over(where, "right")(), 0, 2, 300ms);
  CHECK(participant(over(where, "wrong")(), 1, 2, 250ms).wait().code);
  const outcome& result = alone.wait();
  CHECK(result.code == weft::errc::rendezvous_timed_out);
  CHECK(result.says("rank 1 of 2"));
  CHECK_MESSAGE(result.says("another job key"), result.text);
}

TEST_CASE("rank 0 reports who was refused") {
  const std::string where = unique_unix("report");
  std::string reported;  // read after the thread of rank 0 has ended
  const auto report = [&](std::string text) { reported = std::move(text); };
  participant zero(weft::detail::make_socket_rendezvous(where, "right", report), 0, 2);
  CHECK(participant(over(where, "wrong")(), 1, 2).wait().code == weft::errc::authentication_failed);
  CHECK(participant(over(where, "right")(), 1, 2).wait().cards.size() == 2);
  CHECK(zero.wait().cards.size() == 2);
  CHECK(reported.find("process " + std::to_string(::getpid())) != std::string::npos);
}

TEST_CASE("who waits says for whom, and is told when they come") {
  const std::string where = unique_unix("reminder");
  for (const int early : {0, 1}) {
    std::promise<std::string> first;
    const auto report = [&, told = false](std::string text) mutable {
      if (!std::exchange(told, true)) first.set_value(std::move(text));
    };
    participant waiting(weft::detail::make_socket_rendezvous(where, "", report, 10ms), early, 2);
    const std::string said = first.get_future().get();
    CHECK_MESSAGE(said.find(early == 0 ? "rendezvous: still waiting for rank 1 of 2" : "still waiting for rank 0") !=
                      std::string::npos,
                  said);
    CHECK(participant(over(where)(), 1 - early, 2).wait().cards.size() == 2);
    CHECK(waiting.wait().cards.size() == 2);
  }
}

TEST_CASE("a rendezvous where another process listens is in use") {
  for (const auto& [where, key] : {std::pair{free_tcp(), "key"}, {unique_unix("used"), ""}, {free_tcp(), ""}}) {
    participant first(over(where, key)(), 0, 2);
    // The first to come may be either: once rank 1 has joined one of them, it is the other that has failed.
    outcome second = participant(over(where, key)(), 0, 2, 1s).wait();
    const bool second_listened = second.code == weft::errc::rendezvous_timed_out;
    if (!second_listened) {
      CHECK(second.code == weft::errc::address_in_use);
      CHECK_MESSAGE(second.says(where), second.text);
      CHECK(participant(over(where, key)(), 1, 2).wait().cards.size() == 2);
      CHECK(first.wait().cards.size() == 2);
    } else {
      CHECK(first.wait().code == weft::errc::address_in_use);
    }
  }
}

TEST_CASE("a rank that leaves before all have come can come again") {
  const way go = over(unique_unix("again"));
  asio::io_context context;
  outcome zero;
  outcome early;
  outcome again;
  asio::cancellation_signal leave;
  asio::co_spawn(context, take_part(zero, go(), 0, 3, 20s), [](const std::exception_ptr&) {});
  asio::co_spawn(context, take_part(early, go(), 1, 3, 20s),
                 asio::bind_cancellation_slot(leave.slot(), [&](const std::exception_ptr&) {
                   asio::co_spawn(context, take_part(again, go(), 1, 3, 20s), [](const std::exception_ptr&) {});
                 }));
  asio::steady_timer later(context, 50ms);
  later.async_wait([&](const boost::system::error_code&) { leave.emit(asio::cancellation_type::terminal); });
  outcome two;
  asio::steady_timer last(context, 100ms);
  last.async_wait([&](const boost::system::error_code&) {
    asio::co_spawn(context, take_part(two, go(), 2, 3, 20s), [](const std::exception_ptr&) {});
  });
  context.run();
  CHECK(early.code == asio::error::operation_aborted);
  CHECK(zero.cards.size() == 3);
  CHECK(two.cards.size() == 3);
  CHECK(again.cards.size() == 3);
}

TEST_CASE("in one process a rank that is cancelled takes its card back") {
  const meeting_place place = weft::make_in_process_rendezvous(2);
  asio::io_context context;
  outcome early;
  outcome again;
  outcome zero;
  asio::cancellation_signal leave;
  asio::co_spawn(context, take_part(early, place, 1, 2, 20s),
                 asio::bind_cancellation_slot(leave.slot(), [&](const std::exception_ptr&) {
                   asio::co_spawn(context, take_part(zero, place, 0, 2, 20s), [](const std::exception_ptr&) {});
                   asio::co_spawn(context, take_part(again, place, 1, 2, 20s), [](const std::exception_ptr&) {});
                 }));
  asio::steady_timer later(context, 20ms);
  later.async_wait([&](const boost::system::error_code&) { leave.emit(asio::cancellation_type::terminal); });
  context.run();
  CHECK(early.code == asio::error::operation_aborted);
  CHECK(zero.cards.size() == 2);
  CHECK(again.cards.size() == 2);
}

TEST_CASE("if rank 0 leaves, those who have come learn it at once") {
  const way go = over(unique_unix("left"));
  asio::io_context context;
  outcome zero;
  outcome one;
  asio::cancellation_signal leave;
  asio::co_spawn(context, take_part(zero, go(), 0, 3, 20s),
                 asio::bind_cancellation_slot(leave.slot(), [](const std::exception_ptr&) {}));
  asio::co_spawn(context, take_part(one, go(), 1, 3, 20s), [](const std::exception_ptr&) {});
  asio::steady_timer later(context, 50ms);
  later.async_wait([&](const boost::system::error_code&) { leave.emit(asio::cancellation_type::terminal); });
  context.run();
  CHECK(zero.code == asio::error::operation_aborted);
  CHECK(one.code == weft::errc::peer_lost);
  CHECK(one.says("rank 0"));
}

TEST_CASE("without a key a rendezvous must be on this host") {
  for (const char* where : {"10.0.0.1:29500", "node7:29500", "0.0.0.0:29500"}) {
    try {
      (void)weft::make_socket_rendezvous(where, "");
      FAIL("it was made");
    } catch (const weft::error& problem) {
      CHECK(problem.code() == weft::errc::job_key_required);
      CHECK(std::string(problem.what()).find(where) != std::string::npos);
      CHECK(std::string(problem.what()).find("WEFT_JOB_KEY") != std::string::npos);
    }
    CHECK(weft::make_socket_rendezvous(where, "key"));
  }
}

TEST_CASE("what cannot be is refused before anybody is met") {
  CHECK_THROWS_AS((void)weft::make_socket_rendezvous("nowhere", ""), weft::error);
  CHECK_THROWS_AS((void)weft::make_socket_rendezvous("localhost:0", ""), weft::error);
  CHECK_THROWS_AS((void)weft::make_in_process_rendezvous(0), weft::error);
  CHECK(participant(in_process(2)(), 2, 2).wait().code == weft::errc::rank_out_of_range);
  CHECK(participant(over(unique_unix("rank"))(), -1, 2).wait().code == weft::errc::rank_out_of_range);
}
