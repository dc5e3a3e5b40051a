// SPDX-License-Identifier: Apache-2.0
// Any order is safe: pairs of ranks both send first and receive afterwards, with the tags in reverse. With NCCL or MPI
// alone, two large sends that face each other wait for ever. --help has the usage.
#include "arguments.hpp"
#include "checksum.hpp"
#include "help.hpp"

#include <weft/weft.hpp>

#include <boost/asio/experimental/awaitable_operators.hpp>

#include <algorithm>
#include <iostream>

namespace {

constexpr std::uint64_t messages = 4;
constexpr std::size_t large_bytes = std::size_t{64} << 20;
constexpr std::size_t inline_bytes = std::size_t{16} << 10;

boost::asio::awaitable<void> send_all(weft::communicator comm, int peer, const std::vector<char>& text,
                                      weft::route route) {
  weft::batch sends;
  for (std::uint64_t tag = 0; tag < messages; ++tag) sends.send(text, weft::to(peer, tag).via(route));
  co_await comm.batch(sends);
}

boost::asio::awaitable<int> receive_all(weft::communicator comm, int peer, std::uint64_t expected, std::size_t bytes) {
  std::vector<char> arrived(bytes);
  for (std::uint64_t tag = messages; tag-- > 0;) {
    std::fill(arrived.begin(), arrived.end(), char{0});
    co_await comm.recv(arrived, weft::from(peer, tag));
    if (samples::checksum(arrived) != expected) co_return 1;
  }
  co_return 0;
}

boost::asio::awaitable<int> exchange(weft::communicator comm, std::vector<std::string> words) {
  using namespace boost::asio::experimental::awaitable_operators;
  const samples::arguments given(words);
  const int peer = comm.rank() ^ 1;
  if (peer >= comm.size()) co_return 0;  // an odd rank out
  const std::size_t bytes = given.route == weft::route::inlined ? inline_bytes : large_bytes;
  const std::vector<char> text = samples::repeated(samples::read_input(given.input, bytes), bytes);
  const std::uint64_t expected = samples::checksum(text);

  // The left side starts first: both ranks send everything before either has posted a receive.
  const int status = co_await (send_all(comm, peer, text, given.route) && receive_all(comm, peer, expected, bytes));
  if (status == 0 && comm.rank() == 0)
    std::cout << "any_order: " << messages << " messages of " << bytes << " bytes each way by "
              << weft::name(given.route) << ", checksum " << std::hex << expected << " ok\n";
  co_return status;
}

constexpr auto help = R"(usage: weft-run -n N any_order [--route ROUTE] [--input FILE]

Pairs of ranks both send first and receive afterwards, with the tags in reverse.

  --route ROUTE  automatic, inline, host, device or pair; default automatic
  --input FILE   what to send; default bytes of a generator
)";

}  // namespace

int main(int argc, char** argv) {
  if (samples::gave_help(argc, argv, help)) return 0;
  return weft::run(argc, argv, exchange);
}
