// SPDX-License-Identifier: Apache-2.0
// docs/index.md, "Errors, deadlines, cancellation": one receive that never gets its message, ended in three ways.
#include <weft/weft.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <iostream>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;

boost::asio::awaitable<void> wait_briefly(weft::communicator comm, std::vector<int>& numbers) {
  try {
    co_await comm.recv(numbers, weft::from(weft::any_source, 1).within(20ms));
  } catch (const weft::error& problem) {
    if (problem.code() != weft::errc::timed_out) throw;
    std::cout << problem.what() << '\n';
  }
}

boost::asio::awaitable<bool> comes_in_time(weft::communicator comm, std::vector<int>& numbers) {
  auto receive = comm.recv(numbers, weft::from(weft::any_source, 1).within(20ms));
  auto [code, result] = co_await std::move(receive)(boost::asio::as_tuple(boost::asio::use_awaitable));
  if (code) std::cout << weft::name(result.details.operation) << ' ' << weft::name(result.details.phase) << '\n';
  co_return !code;
}

void receive_until(weft::communicator comm, std::vector<int>& numbers, boost::asio::cancellation_signal& stop) {
  const auto print = [](boost::system::error_code code, const weft::received&) { std::cout << code.message() << '\n'; };
  comm.recv(numbers, weft::from(weft::any_source, 1))(boost::asio::bind_cancellation_slot(stop.slot(), print));
}

boost::asio::awaitable<int> body(weft::communicator comm, std::vector<std::string>) {
  std::vector<int> numbers(3);
  co_await wait_briefly(comm, numbers);
  const bool came = co_await comes_in_time(comm, numbers);
  boost::asio::cancellation_signal stop;
  receive_until(comm, numbers, stop);
  stop.emit(boost::asio::cancellation_type::terminal);
  co_await boost::asio::post(boost::asio::use_awaitable);
  co_return came ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  return weft::run(argc, argv, body);
}
