// SPDX-License-Identifier: Apache-2.0
// docs/index.md, "Groups": teams of odd and of even ranks, each of which talks among itself.
#include <weft/weft.hpp>

#include <iostream>
#include <string>
#include <vector>

namespace {

boost::asio::awaitable<void> add_up(weft::communicator world) {
  const int color = world.rank() == 0 ? weft::no_color : world.rank() % 2;
  weft::communicator team = co_await world.split(color);
  if (!team) co_return;  // rank 0 chose none

  if (team.rank() != 0) {
    co_await weft::send_objects(team, weft::to(0, 1), world.rank());
    co_return;
  }
  int sum = world.rank();
  for (int i = 1; i < team.size(); ++i) {
    auto [envelope, number] = co_await weft::recv_objects<int>(team, weft::from(i, 1));
    sum += number;
  }
  std::cout << "team " << color << ": " << team.size() << " ranks, sum " << sum << '\n';
}

boost::asio::awaitable<int> body(weft::communicator world, std::vector<std::string>) {
  co_await add_up(world);
  co_return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return weft::run(argc, argv, body);
}
