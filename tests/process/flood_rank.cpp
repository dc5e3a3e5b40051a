// SPDX-License-Identifier: Apache-2.0
// One rank of the job of flood_test.cpp: `flood_rank <messages>`. Rank 0 sends so many messages that rank 1 does not
// receive until all are announced. Rank 1 says what they cost it, and then what it received.
#include <weft/weft.hpp>

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <span>
#include <string>
#include <vector>

namespace asio = boost::asio;

namespace {

constexpr std::uint64_t flood_tag = 1;
constexpr std::uint64_t sign_tag = 2;
// Sends between two turns of the loop, and receives at once.
constexpr std::uint64_t window = 500;

using body = std::array<std::uint64_t, 127>;
struct message {
  std::uint64_t number = 0;
  body content{};
};
static_assert(sizeof(message) == 1024);

body common_content() {
  body content;
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = (i + 1) * 0x9e3779b97f4a7c15U;
  return content;
}

asio::awaitable<void> give_sign(weft::communicator comm) {
  const std::uint64_t sign = 0;
  co_await comm.send(std::span(&sign, 1), weft::to(1 - comm.rank(), sign_tag));
}
asio::awaitable<void> await_sign(weft::communicator comm) {
  std::uint64_t sign = 0;
  co_await comm.recv(std::span(&sign, 1), weft::from(1 - comm.rank(), sign_tag));
}

/// A million messages in little memory: they differ in their numbers, and share the rest.
asio::awaitable<int> send_flood(weft::communicator comm, std::uint64_t count) {
  std::vector<std::uint64_t> numbers(count);
  const body content = common_content();
  std::uint64_t sent = 0;
  std::uint64_t failed = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    numbers[i] = i;
    const std::array<weft::const_buffer_view, 2> pieces{{{&numbers[i], sizeof numbers[i]}, {&content, sizeof content}}};
    comm.send(pieces, weft::to(1, flood_tag))([&](const boost::system::error_code& code, const weft::sent&) {
      ++sent;
      failed += code ? 1 : 0;
    });
    if (i % window == 0) co_await asio::post(asio::use_awaitable);
  }
  co_await give_sign(comm);
  co_await await_sign(comm);
  while (sent != count) co_await asio::post(asio::use_awaitable);
  co_return failed == 0 ? 0 : 1;
}

std::uint64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t all = 0;
  std::uint64_t resident = 0;
  statm >> all >> resident;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

/// How many messages arrive as they were sent, in order, before one does not.
asio::awaitable<std::uint64_t> receive_flood(weft::communicator comm, std::uint64_t count) {
  const body content = common_content();
  std::vector<message> arrived(window);
  std::uint64_t right = 0;
  while (right < count) {
    weft::batch next;
    for (message& one : std::span(arrived).first(std::min(window, count - right)))
      next.recv(std::span(&one, 1), weft::from(0, flood_tag));
    co_await comm.batch(next);
    for (std::size_t i = 0; i < next.size(); ++i, ++right)
      if (arrived[i].number != right || arrived[i].content != content) co_return right;
  }
  co_return right;
}

asio::awaitable<int> await_flood(weft::communicator comm, std::uint64_t count) {
  const std::uint64_t before = resident_bytes();
  co_await await_sign(comm);
  std::cout << "growth " << resident_bytes() - before << std::endl;
  std::cout << "unmatched " << comm.stats().unmatched << std::endl;
  const std::uint64_t right = co_await receive_flood(comm, count);
  std::cout << "received " << right << std::endl;
  std::cout << "left " << comm.stats().unmatched << std::endl;
  co_await give_sign(comm);
  co_return 0;
}

asio::awaitable<int> run_rank(weft::communicator comm, std::vector<std::string> arguments) {
  const std::uint64_t count = std::stoull(arguments.at(0));
  // The link stands, and has its buffers.
  if (comm.rank() == 1) co_await give_sign(comm);
  if (comm.rank() == 0) co_await await_sign(comm);
  int status = 0;
  if (comm.rank() == 0) status = co_await send_flood(comm, count);
  if (comm.rank() == 1) status = co_await await_flood(comm, count);
  co_return status;
}

}  // namespace

int main(int argc, char** argv) {
  return weft::run(argc, argv, run_rank);
}
