// SPDX-License-Identifier: Apache-2.0
// Every rank but 0 sends rank 0 a greeting, a typed object, and gets an answer. Run it with: weft-run -n 2
// hello_objects
#include "help.hpp"

#include <weft/weft.hpp>

#include <iostream>
#include <string>
#include <vector>

namespace {

enum : std::uint64_t { greetings, answers };

struct greeting {
  std::string text;
  std::vector<int> numbers;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(text, numbers);
  }
};

boost::asio::awaitable<int> greet(weft::communicator comm, std::vector<std::string>) {
  if (comm.rank() == 0) {
    for (int i = 1; i < comm.size(); ++i) {
      auto [envelope, hello] = co_await weft::recv_objects<greeting>(comm, weft::from(weft::any_source, greetings));
      int sum = 0;
      for (const int number : hello.numbers) sum += number;
      std::cout << "rank " << envelope.source << " says \"" << hello.text << "\", sum " << sum << '\n';
      co_await weft::send_objects(comm, weft::to(envelope.source, answers), sum);
    }
  } else {
    const greeting hello{"hello from " + std::to_string(comm.rank()), {1, 2, comm.rank()}};
    co_await weft::send_objects(comm, weft::to(0, greetings), hello);
    auto [envelope, sum] = co_await weft::recv_objects<int>(comm, weft::from(0, answers));
    std::cout << "the sum is " << sum << '\n';
  }
  co_return 0;
}

constexpr auto help = R"(usage: weft-run -n N hello_objects

Every rank but 0 sends rank 0 a greeting, a typed object, and gets an answer.
)";

}  // namespace

int main(int argc, char** argv) {
  if (samples::gave_help(argc, argv, help)) return 0;
  return weft::run(argc, argv, greet);
}
