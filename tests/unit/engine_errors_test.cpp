// SPDX-License-Identifier: Apache-2.0
// What goes wrong is told by code and by text, and nothing else is touched by it.
#include "engine_core.hpp"
#include "ranks.hpp"

#include <weft/engine/objects.hpp>

#include <doctest/doctest.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <array>
#include <climits>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace asio = boost::asio;
using boost::system::error_code;
using weft::errc;
using weft::testing::links;
using weft::testing::rank_body;
using weft::testing::run_ranks;

namespace {

struct ending {
  error_code code;
  std::string text;
  weft::operation_details details;

  [[nodiscard]] bool says(const std::string& part) const { return text.find(part) != std::string::npos; }
};

template <class Operation>
asio::awaitable<ending> end_of(Operation operation) {
  auto [code, result] = co_await std::move(operation)(asio::as_tuple(asio::use_awaitable));
  ending ended{code, weft::describe(code, result.details), result.details};
  co_return ended;
}

/// Runs `body` between two ranks (or with oneself) while an operation that began before it is under way, and ends that
/// one afterwards.
asio::awaitable<void> amid_others(weft::communicator comm, const rank_body& body) {
  struct receive {
    int value = -1;
    std::optional<error_code> ended;
  };
  const int peer = comm.size() - 1 - comm.rank();
  const auto across = std::make_shared<receive>();
  comm.recv(std::span(&across->value, 1),
            weft::from(peer, 901))([across](error_code code, const weft::received&) { across->ended = code; });
  co_await body(comm);
  const int mine = comm.rank();
  co_await comm.send(std::span(&mine, 1), weft::to(peer, 901).via(weft::route::host));
  while (!across->ended) co_await asio::post(asio::use_awaitable);
  CHECK_FALSE(*across->ended);
  CHECK(across->value == peer);
}

void with_ranks(int ranks, const rank_body& body, const links& how = {}) {
  const rank_body whole = [&body](weft::communicator comm) -> asio::awaitable<void> {
    co_await amid_others(comm, body);
  };
  run_ranks(ranks, whole, how);
}

/// The ways by which both ends of a mismatch are told.
const std::array<weft::destination, 4> told_ways{
    weft::to(1, 1).via(weft::route::inlined).until(weft::matched), weft::to(1, 1).via(weft::route::host),
    weft::to(1, 1).via(weft::route::device), weft::to(1, 1).via(weft::route::pair)};

/// Rank 0 sends `mine`, rank 1 receives into `theirs`; both must end with `code`, each with its text.
template <class Sent, class Received>
void both_told(const Sent& mine, const Received& theirs, errc code, const std::string& sender_says,
               const std::string& receiver_says) {
  for (const weft::destination& where : told_ways) {
    CAPTURE(weft::name(where.route));
    const auto body = [&](weft::communicator comm) -> asio::awaitable<void> {
      ending ended;
      if (comm.rank() == 0) {
        ended = co_await end_of(comm.send(mine, where));
      } else {
        Received buffer = theirs;
        ended = co_await end_of(comm.recv(buffer, weft::from(0, 1)));
        CHECK(buffer == theirs);
      }
      CAPTURE(ended.text);
      CHECK(ended.code == code);
      CHECK(ended.details.phase == weft::phase::matched);
      CHECK(ended.says(comm.rank() == 0 ? "send to rank 1, tag 1, " : "receive from rank 0, tag 1, "));
      CHECK(ended.says(comm.rank() == 0 ? sender_says : receiver_says));
    };
    with_ranks(2, body);
  }
}

/// What the options of one rank come to.
ending end_of_options(const std::function<void(weft::engine_options&)>& adjust, int ranks = 1) {
  const auto nothing = [](weft::communicator) -> asio::awaitable<void> { co_return; };
  try {
    run_ranks(ranks, nothing, {.over = weft::transport::unix_socket, .adjust = adjust});
  } catch (const weft::error& problem) {
    return {problem.code(), problem.what(), problem.details()};
  }
  return {};
}

struct left_type {
  static constexpr std::string_view weft_type_name = "the shop's left";
  int value = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(value);
  }
};

struct right_type {
  static constexpr std::string_view weft_type_name = "the shop's right";
  int value = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(value);
  }
};

struct reluctant {
  template <class Archive>
  void serialize(Archive&) {
    throw std::runtime_error("the vault is shut");
  }
};

constexpr int most_unmatched = 3;
constexpr std::uint64_t ready_tag = 2;
constexpr std::uint64_t go_tag = 3;

/// Sends one message more than its peer holds, and another one when that has received some.
asio::awaitable<void> overfill(weft::communicator comm, weft::destination where) {
  const std::array<int, most_unmatched + 2> values{0, 1, 2, 3, 4};
  const auto one = [&](int i) { return std::span(values).subspan(static_cast<std::size_t>(i), 1); };
  int sign = 0;
  int succeeded = 0;
  co_await comm.recv(std::span(&sign, 1), weft::from(1, ready_tag));
  for (int i = 0; i < most_unmatched; ++i)
    comm.send(one(i), where)([&](error_code code, const weft::sent&) { succeeded += code ? 0 : 1; });
  const ending refused = co_await end_of(comm.send(one(most_unmatched), where));
  CHECK(refused.code == errc::too_many_unmatched);
  CHECK(refused.says("the receiver holds as many unmatched messages as it allows"));
  CHECK(succeeded == 0);
  co_await comm.send(std::span(&sign, 1), weft::to(1, go_tag));
  co_await comm.recv(std::span(&sign, 1), weft::from(1, ready_tag));
  const ending taken = co_await end_of(comm.send(one(most_unmatched + 1), where));
  CHECK_FALSE(taken.code);
  CHECK(succeeded == most_unmatched);
}

asio::awaitable<void> receive_what_was_taken(weft::communicator comm) {
  int sign = 0;
  const int ready = 0;
  weft::batch signs;
  signs.recv(std::span(&sign, 1), weft::from(0, go_tag));
  signs.send(std::span(&ready, 1), weft::to(0, ready_tag));
  co_await comm.batch(signs);
  for (const int expected : {0, 1, 2, 4}) {
    int value = -1;
    co_await comm.recv(std::span(&value, 1), weft::from(0, 1));
    CHECK(value == expected);
    if (value == 0) co_await comm.send(std::span(&ready, 1), weft::to(0, ready_tag));
  }
  CHECK(comm.stats().unmatched == 0);
}

}  // namespace

TEST_CASE("a null buffer with a size is refused, at either end, and nothing is started") {
  with_ranks(1, [](weft::communicator comm) -> asio::awaitable<void> {
    const weft::const_buffer_view nowhere{nullptr, 8};
    const weft::buffer_view into_nowhere{nullptr, 8};
    const ending sending = co_await end_of(comm.send(nowhere, weft::to(0, 4)));
    CHECK(sending.code == errc::null_buffer);
    CHECK(sending.says("send to rank 0, tag 4, 8 bytes: a buffer of non-zero size has no address"));
    const ending receiving = co_await end_of(comm.recv(into_nowhere, weft::from(weft::any_source, weft::any_tag)));
    CHECK(receiving.code == errc::null_buffer);
    CHECK(receiving.says("receive from any rank, any tag, 8 bytes: "));
    CHECK(comm.stats().unmatched == 0);
  });
}

TEST_CASE("views of different element types do not make one message") {
  with_ranks(1, [](weft::communicator comm) -> asio::awaitable<void> {
    const std::vector<int> whole(2);
    const std::vector<float> real(2);
    const std::array views{weft::view_of(whole), weft::view_of(real)};
    const ending ended = co_await end_of(comm.send(views, weft::to(0, 4)));
    CHECK(ended.code == errc::element_type_mismatch);
    CHECK(ended.says("send to rank 0, tag 4"));
  });
}

TEST_CASE("a receive that is shorter or longer than the message fails both ends, and its memory stays as it was") {
  both_told(std::vector<int>(10, 1), std::vector<int>(9, 7), errc::size_mismatch,
            "(this end has 40 bytes of i32, the other 36 bytes of i32)",
            "(this end has 36 bytes of i32, the other 40 bytes of i32)");
  both_told(std::vector<int>(10, 1), std::vector<int>(11, 7), errc::size_mismatch,
            "(this end has 40 bytes of i32, the other 44 bytes of i32)",
            "(this end has 44 bytes of i32, the other 40 bytes of i32)");
}

TEST_CASE("element types that differ fail both ends") {
  both_told(std::vector<int>(10, 1), std::vector<float>(10, 7), errc::element_type_mismatch,
            "(this end has 40 bytes of i32, the other 40 bytes of f32)",
            "(this end has 40 bytes of f32, the other 40 bytes of i32)");
}

TEST_CASE("a mismatch of an inline send that had completed is told to its hook") {
  std::vector<std::pair<error_code, weft::operation_details>> late;
  const auto body = [](weft::communicator comm) -> asio::awaitable<void> {
    std::vector<int> ten(10);
    std::vector<int> nine(9);
    if (comm.rank() == 0) {
      const ending ended = co_await end_of(comm.send(ten, weft::to(1, 6).via(weft::route::inlined)));
      CHECK_FALSE(ended.code);
    } else {
      const ending ended = co_await end_of(comm.recv(nine, weft::from(0, 6)));
      CHECK(ended.code == errc::size_mismatch);
      CHECK(ended.says("the other 40 bytes"));
    }
  };
  const auto adjust = [&late](weft::engine_options& options) {
    if (options.rank == 0)
      options.late_error = [&late](const error_code& code, const weft::operation_details& details) {
        late.emplace_back(code, details);
      };
  };
  with_ranks(2, body, {.over = weft::transport::unix_socket, .adjust = adjust});
  REQUIRE(late.size() == 1);
  CHECK(late[0].first == errc::size_mismatch);
  const std::string text = weft::describe(late[0].first, late[0].second);
  CHECK(text.find("send to rank 1, tag 6, 40 bytes of i32") == 0);
  CHECK(text.find("the other 36 bytes of i32") != std::string::npos);
}

TEST_CASE("objects of another type, and objects against a buffer, fail both ends") {
  for (const weft::destination& where : told_ways) {
    CAPTURE(weft::name(where.route));
    const auto body = [&where](weft::communicator comm) -> asio::awaitable<void> {
      const left_type left{3};
      std::vector<int> buffer(5);
      ending types, kinds, reverse;
      if (comm.rank() == 0) {
        types = co_await end_of(weft::send_objects(comm, where, left));
        kinds = co_await end_of(weft::send_objects(comm, where, left));
        reverse = co_await end_of(comm.send(buffer, where));
      } else {
        types = co_await end_of(weft::recv_objects<right_type>(comm, weft::from(0, 1)));
        kinds = co_await end_of(comm.recv(buffer, weft::from(0, 1)));
        reverse = co_await end_of(weft::recv_objects<left_type>(comm, weft::from(0, 1)));
      }
      CHECK(types.code == errc::object_type_mismatch);
      CHECK(types.says("; send and receive the same types"));
      CHECK(types.says(comm.rank() == 0 ? "this end has the shop's left (fingerprint "
                                        : "this end has the shop's right (fingerprint "));
      if (comm.rank() == 1) CHECK(types.says(", the other types of fingerprint "));
      CHECK(kinds.code == errc::kind_mismatch);
      CHECK(kinds.says(comm.rank() == 0 ? "the other 20 bytes of i32" : "(this end has 20 bytes of i32"));
      CHECK(reverse.code == errc::kind_mismatch);
      CHECK(reverse.says(comm.rank() == 0 ? "(this end has 20 bytes of i32, the other objects)"
                                          : "(this end has objects, the other 20 bytes of i32)"));
    };
    with_ranks(2, body);
  }
}

TEST_CASE("an inline send above the eager limit is refused with the limit's name, and other routes carry it") {
  const auto adjust = [](weft::engine_options& options) { options.eager_limit = 100; };
  const auto body = [](weft::communicator comm) -> asio::awaitable<void> {
    std::vector<char> bytes(101, 'x');
    if (comm.rank() == 0) {
      const ending ended = co_await end_of(comm.send(bytes, weft::to(1, 1).via(weft::route::inlined)));
      CHECK(ended.code == errc::message_too_large);
      CHECK_FALSE(ended.says("receiver"));
      CHECK(ended.says("the inline route carries up to 100 bytes (eager_limit); choose another route, or automatic"));
      co_await comm.send(bytes, weft::to(1, 1));
    } else {
      bytes.assign(101, '-');
      co_await comm.recv(bytes, weft::from(0, 1));
      CHECK(bytes.back() == 'x');
    }
  };
  with_ranks(2, body, {.over = weft::transport::unix_socket, .adjust = adjust});
}

TEST_CASE("options that cannot be are refused with their value and what it may be") {
  ending ended = end_of_options([](weft::engine_options& options) { options.rank = 2; });
  CHECK(ended.code == errc::invalid_option);
  CHECK(ended.says("rank is 2; with a world_size of 1 it is from 0 to 0"));
  ended = end_of_options([](weft::engine_options& options) { options.rank = -1; });
  CHECK(ended.says("rank is -1"));
  ended = end_of_options([](weft::engine_options& options) { options.world_size = 0; });
  CHECK(ended.code == errc::invalid_option);
  CHECK(ended.says("world_size is 0; it is from 1 to 65536"));
  CHECK_FALSE(ended.says("an option has a value"));  // said once
  ended = end_of_options([](weft::engine_options& options) { options.world_size = INT_MAX; });
  CHECK(ended.code == errc::invalid_option);
  CHECK(ended.says("world_size is 2147483647; it is from 1 to 65536"));
  ended = end_of_options([](weft::engine_options& options) { options.join_timeout = std::chrono::milliseconds(-5); });
  CHECK(ended.code == errc::invalid_option);
  CHECK(ended.says("join_timeout is -5 ms; it is from 1 to 2592000000 ms"));
  ended =
      end_of_options([](weft::engine_options& options) { options.join_timeout = std::chrono::milliseconds::max(); });
  CHECK(ended.says("join_timeout is 9223372036854775807 ms"));
  ended = end_of_options([](weft::engine_options& options) { options.set_up_timeout = std::chrono::milliseconds(0); });
  CHECK(ended.code == errc::invalid_option);
  CHECK(ended.says("set_up_timeout is 0 ms; it is from 1 to"));
  ended = end_of_options([](weft::engine_options& options) { options.launch_timeout = std::chrono::nanoseconds(-1); });
  CHECK(ended.code == errc::invalid_option);
  CHECK(ended.says("launch_timeout is -1 ns; it is above 0, or no_limit"));
  ended = end_of_options([](weft::engine_options& options) { options.link_timeout = std::chrono::milliseconds(-1); });
  CHECK(ended.says("link_timeout is -1 ms"));
  ended = end_of_options([](weft::engine_options& options) { options.eager_limit = weft::largest_eager_limit + 1; });
  CHECK(ended.code == errc::invalid_option);
  CHECK(ended.says("eager_limit is 65537 bytes; it is at most 65536"));
  ended = end_of_options([](weft::engine_options& options) { options.link_timeout = std::chrono::milliseconds(999); });
  CHECK(ended.code == errc::invalid_option);
  CHECK(ended.says("link_timeout is 999 ms; it is from 1000 to 86400000 ms"));
  ended = end_of_options([](weft::engine_options& options) { options.meeting.reset(); }, 2);
  CHECK(ended.code == errc::invalid_option);
  CHECK(ended.says("no rendezvous: set rendezvous_address"));
  CHECK_FALSE(
      end_of_options([](weft::engine_options& options) { options.eager_limit = weft::largest_eager_limit; }).code);
}

TEST_CASE("numbers that stand for no route, memory or element, and sizes of no memory, are refused here") {
  const auto body = [](weft::communicator comm) -> asio::awaitable<void> {
    const int peer = 1 - comm.rank();
    const std::vector<int> values(4);
    const auto no_route = weft::to(peer, 1).via(static_cast<weft::route>(17));
    const ending routed = co_await end_of(comm.send(values, no_route));
    CHECK(routed.code == errc::invalid_option);
    for (const bool of_memory : {true, false}) {
      weft::const_buffer_view view = weft::view_of(values);
      if (of_memory)
        view.memory = static_cast<weft::memory_kind>(55);
      else
        view.element = static_cast<weft::element_type>(77);
      const ending viewed = co_await end_of(comm.send(view, weft::to(peer, 1)));
      CHECK(viewed.code == errc::invalid_option);
    }
    weft::const_buffer_view endless = weft::view_of(values);
    endless.size = SIZE_MAX / 2 + 1;
    const std::vector<weft::const_buffer_view> wrapping{endless, endless};
    const ending sized = co_await end_of(comm.send(wrapping, weft::to(peer, 1)));
    CHECK(sized.code == errc::invalid_option);
    CHECK_THROWS_AS((void)comm.device_buffer(SIZE_MAX), std::bad_alloc);
    // The link is unhurt.
    const int mine = comm.rank();
    int got = -1;
    co_await comm.send(std::span(&mine, 1), weft::to(peer, 2));
    co_await comm.recv(std::span(&got, 1), weft::from(peer, 2));
    CHECK(got == peer);
  };
  run_ranks(2, body);
}

TEST_CASE("a rank that there cannot be is named as it was given, and comes before what else is wrong") {
  with_ranks(2, [](weft::communicator comm) -> asio::awaitable<void> {
    int value = 1;
    for (const int rank : {-1, 2, INT_MIN, INT_MAX}) {
      const ending receiving = co_await end_of(comm.recv(std::span(&value, 1), weft::from(rank, 3)));
      CHECK(receiving.code == errc::rank_out_of_range);
      CHECK(receiving.says("receive from rank " + std::to_string(rank) + ", tag 3, 4 bytes of i32: "));
      CHECK(receiving.says("there are ranks 0 to 1"));
      const weft::const_buffer_view nowhere{nullptr, 8};
      const ending sending = co_await end_of(comm.send(nowhere, weft::to(rank, 3)));
      CHECK(sending.code == errc::rank_out_of_range);
      CHECK(sending.says("send to rank " + std::to_string(rank) + ", tag 3, 8 bytes: "));
    }
  });
}

TEST_CASE("bytes without an element type are not those of a type") {
  const auto body = [](weft::communicator comm) -> asio::awaitable<void> {
    ending ended;
    std::vector<int> typed(10);
    std::vector<std::byte> raw(40);
    if (comm.rank() == 0)
      ended = co_await end_of(comm.send(typed, told_ways[0]));
    else
      ended = co_await end_of(comm.recv(raw, weft::from(0, 1)));
    CHECK(ended.code == errc::element_type_mismatch);
    CHECK(ended.says(comm.rank() == 0 ? "(this end has 40 bytes of i32, the other 40 bytes of no type)"
                                      : "(this end has 40 bytes of no type, the other 40 bytes of i32)"));
  };
  with_ranks(2, body);
}

TEST_CASE("links over TCP are refused without a job key") {
  const ending ended = end_of_options([](weft::engine_options& options) {
    options.transport = weft::transport::tcp;
    options.job_key.clear();
  });
  CHECK(ended.code == errc::job_key_required);
  CHECK(ended.says("WEFT_JOB_KEY"));
}

TEST_CASE("an operation on an engine that has not joined fails, and tells so") {
  asio::io_context context(1);
  const auto core = std::make_shared<weft::detail::engine_core>(context.get_executor(), weft::engine_options{});
  const weft::communicator comm(weft::detail::place{core, &core->root()});
  const int value = 1;
  std::optional<ending> ended;
  comm.send(std::span(&value, 1), weft::to(0, 3))([&](error_code code, const weft::sent& result) {
    ended = ending{code, weft::describe(code, result.details), result.details};
  });
  context.run();
  REQUIRE(ended);
  CHECK(ended->code == errc::not_joined);
  CHECK(ended->says("send to rank 0, tag 3, 4 bytes of i32"));
  CHECK(ended->says("join it first"));
}

TEST_CASE("close fails what is unmatched, and everything that is started after it") {
  asio::io_context context(1);
  weft::engine one(context.get_executor(), weft::engine_options{});
  std::optional<error_code> waiting;
  const auto work = [&]() -> asio::awaitable<void> {
    int value = 1;
    const weft::communicator comm = co_await one.join();
    comm.recv(std::span(&value, 1), weft::from(0, 1))([&](error_code code, const weft::received&) { waiting = code; });
    co_await one.close();
    const ending sending = co_await end_of(comm.send(std::span(&value, 1), weft::to(0, 2)));
    CHECK(sending.code == errc::closed);
    CHECK(sending.says("send to rank 0, tag 2, 4 bytes of i32: the engine was closed"));
    const ending receiving = co_await end_of(weft::recv_objects<int>(comm, weft::from(0, 2)));
    CHECK(receiving.code == errc::closed);
    co_await one.close();  // again: nothing to do
  };
  std::exception_ptr problem;
  asio::co_spawn(context, work, [&](const std::exception_ptr& thrown) { problem = thrown; });
  context.run();
  CHECK_FALSE(problem);
  REQUIRE(waiting);
  CHECK(*waiting == errc::closed);
}

TEST_CASE("a send beyond max_unmatched fails by name, and sends work again once some are matched") {
  const auto adjust = [](weft::engine_options& options) { options.max_unmatched = most_unmatched; };
  for (const weft::destination& where : told_ways) {
    CAPTURE(weft::name(where.route));
    const auto body = [&where](weft::communicator comm) -> asio::awaitable<void> {
      if (comm.rank() == 0) co_await overfill(comm, where);
      if (comm.rank() == 1) co_await receive_what_was_taken(comm);
    };
    run_ranks(2, body, {.over = weft::transport::unix_socket, .adjust = adjust});
  }
}

TEST_CASE("objects above the receiver's limit fail both ends") {
  const auto adjust = [](weft::engine_options& options) { options.max_object_bytes = 1000; };
  for (const weft::destination& where : told_ways) {
    CAPTURE(weft::name(where.route));
    const auto body = [&where](weft::communicator comm) -> asio::awaitable<void> {
      ending ended;
      if (comm.rank() == 0)
        ended = co_await end_of(weft::send_objects(comm, where, std::vector<int>(500, 1)));
      else
        ended = co_await end_of(weft::recv_objects<std::vector<int>>(comm, weft::from(0, 1)));
      CAPTURE(ended.text);
      CHECK(ended.code == errc::message_too_large);
      CHECK(ended.says("the message is larger than a limit allows (the message has "));
      CHECK(ended.says(" bytes of objects, the receiver takes up to 1000 (its max_object_bytes))"));
    };
    with_ranks(2, body, {.over = weft::transport::unix_socket, .adjust = adjust});
  }
}

TEST_CASE("an object that refuses to be serialized is not sent, and its reason is told") {
  with_ranks(1, [](weft::communicator comm) -> asio::awaitable<void> {
    const reluctant object;
    const ending ended = co_await end_of(weft::send_objects(comm, weft::to(0, 8), object));
    CHECK(ended.code == errc::unserializable);
    CHECK(ended.says("send to rank 0, tag 8"));
    CHECK(ended.says("the object could not be serialized: the vault is shut"));
    CHECK(comm.stats().unmatched == 0);
  });
}

TEST_CASE("an operation after a GPU's work is refused by name on the host device") {
  const auto body = [](weft::communicator comm) -> asio::awaitable<void> {
    int value = 0;
    CUstream_st* const default_stream = nullptr;
    const ending ended = co_await end_of(comm.recv(std::span(&value, 1), weft::from(0, 1).after(default_stream)));
    CHECK(ended.code == errc::device_unavailable);
    CHECK(ended.says("`after` needs the cuda device, and this engine uses the host device"));
  };
  with_ranks(1, body, {.adjust = [](weft::engine_options& options) { options.device = weft::device_choice::host; }});
}
