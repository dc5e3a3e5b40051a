// SPDX-License-Identifier: Apache-2.0
// What `weft::run` makes of the end of a program's body.
#include <weft/engine/objects.hpp>
#include <weft/engine/run.hpp>

#include <doctest/doctest.h>

#include <boost/asio/experimental/awaitable_operators.hpp>

#include <array>
#include <iostream>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace asio = boost::asio;

namespace {

struct outcome {
  int status = 0;
  std::string errors;
};

/// In a group of one, because no launcher has set anything.
outcome run(const weft::main_coroutine& body) {
  std::ostringstream said;
  std::streambuf* const before = std::cerr.rdbuf(said.rdbuf());
  std::string name = "program";
  std::string argument = "word";
  std::array<char*, 2> words{name.data(), argument.data()};
  const int status = weft::run(2, words.data(), body);
  std::cerr.rdbuf(before);
  return {status, said.str()};
}

asio::awaitable<void> send_to_nobody(weft::communicator comm) {
  const int number = 1;
  co_await comm.send(std::span(&number, 1), weft::to(7, 1));
}

}  // namespace

TEST_CASE("a program gets the words behind its name, and its status is that of its body") {
  const outcome ended = run([](weft::communicator comm, std::vector<std::string> words) -> asio::awaitable<int> {
    co_return comm.size() == 1 && words == std::vector<std::string>{"word"} ? 3 : 4;
  });
  CHECK(ended.status == 3);
  CHECK(ended.errors.empty());
}

TEST_CASE("a program whose body throws says why, and fails") {
  const outcome ended = run([](weft::communicator comm, std::vector<std::string>) -> asio::awaitable<int> {
    co_await send_to_nobody(std::move(comm));
    co_return 0;
  });
  CHECK(ended.status == 1);
  CHECK(ended.errors.starts_with("program: send to rank 7"));
}

TEST_CASE("a program two of whose parallel branches throw says why") {
  const outcome ended = run([](weft::communicator comm, std::vector<std::string>) -> asio::awaitable<int> {
    using namespace asio::experimental::awaitable_operators;
    co_await (send_to_nobody(comm) && send_to_nobody(comm));
    co_return 0;
  });
  CHECK(ended.status == 1);
  CHECK(ended.errors.starts_with("program: send to rank 7"));
}
