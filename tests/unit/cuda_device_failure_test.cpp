// SPDX-License-Identifier: Apache-2.0
// What NCCL may do to a device: the operations concerned fail by name at both ends, and the next ones succeed on a new
// communicator.
#include "cuda_machine.hpp"
#include "ranks.hpp"

#include <weft/engine/objects.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

namespace asio = boost::asio;
using weft::errc;
using weft::route;
using weft::testing::run_ranks;
using weft::testing::running_world;

namespace {

constexpr std::array log_routes{route::device, route::pair};
constexpr std::uint64_t word_tag = 9;

/// Rank 0 sends, rank 1 receives: how that ended here.
asio::awaitable<boost::system::error_code> transfer(weft::communicator comm, route via) {
  std::vector<int> numbers(1000, 7 * (1 - comm.rank()));
  if (comm.rank() == 0) {
    auto [code, result] = co_await comm.send(numbers, weft::to(1, 1).via(via))(asio::as_tuple(asio::use_awaitable));
    co_return code;
  }
  auto [code, result] = co_await comm.recv(numbers, weft::from(0, 1))(asio::as_tuple(asio::use_awaitable));
  if (!code) CHECK(numbers == std::vector<int>(1000, 7));
  co_return code;
}

/// Neither rank goes on before the other has come so far.
asio::awaitable<void> meet(weft::communicator comm) {
  const int peer = 1 - comm.rank();
  co_await weft::send_objects(comm, weft::to(peer, word_tag), 0);
  co_await weft::recv_objects<int>(comm, weft::from(peer, word_tag));
}

/// After the fault that `break_it` brings about, one transfer fails as `expected` says, and the next ones succeed.
template <class Break, class Expected>
void check_fault(bool while_opening, Break break_it, Expected expected) {
  for (const route via : log_routes) {
    CAPTURE(weft::name(via));
    const auto body = [&](weft::communicator comm) -> asio::awaitable<void> {
      if (!while_opening) {
        const auto before = co_await transfer(comm, via);
        CHECK_FALSE(before);
      }
      if (comm.rank() == 0) break_it();
      co_await meet(comm);
      const auto during = co_await transfer(comm, via);
      CHECK_MESSAGE(expected(during), during.message());
      co_await meet(comm);
      for (int i = 0; i < 3; ++i) {
        const auto after = co_await transfer(comm, via);
        CHECK_FALSE(after);
      }
    };
    run_ranks(2, body,
              {.adjust = [](weft::engine_options& options) { options.set_up_timeout = std::chrono::seconds(1); }});
  }
}

bool is_failed_set_up(const boost::system::error_code& code) {
  return code == errc::timed_out || code == errc::set_up_failed || code == errc::transfer_aborted;
}

bool is_aborted(const boost::system::error_code& code) {
  return code == errc::transfer_aborted;
}

}  // namespace

TEST_CASE("a communicator whose creation never ends is given up by its deadline, and another one is made") {
  const auto break_it = [] {
    running_world().inject({.call = "ncclCommInitRankConfig", .rank = 0, .what = cuda_model::effect::lasts});
  };
  check_fault(true, break_it, is_failed_set_up);
}

TEST_CASE("a communicator whose creation fails is named to both ends, and another one is made") {
  const auto break_it = [] {
    running_world().inject({.call = "ncclCommInitRankConfig", .rank = 1, .code = ncclSystemError});
  };
  check_fault(true, break_it, is_failed_set_up);
}

TEST_CASE("a group that NCCL refuses fails at both ends, and another communicator carries the next") {
  const auto break_it = [] { running_world().inject({.call = "ncclGroupEnd", .rank = 0, .code = ncclInternalError}); };
  check_fault(false, break_it, is_aborted);
}

TEST_CASE("an error that NCCL tells of later ends what is under way, and another communicator carries the next") {
  const auto break_it = [] {
    running_world().inject(
        {.call = "ncclGroupEnd", .rank = 1, .what = cuda_model::effect::fails_later, .code = ncclRemoteError});
  };
  check_fault(false, break_it, is_aborted);
}
