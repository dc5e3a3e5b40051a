// SPDX-License-Identifier: Apache-2.0
// docs/index.md, "Routes and memory": gathering, owned containers, and memory of the device.
// docs/objects.md, "Memory of a device".
#include <weft/weft.hpp>

#include <array>
#include <iostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

boost::asio::awaitable<void> gather(weft::communicator comm) {
  const std::string head = "two pieces, ";
  const std::string tail = "one message";
  const std::array<weft::const_buffer_view, 2> pieces{weft::view_of(head), weft::view_of(tail)};
  co_await comm.send(pieces, weft::to(comm.rank(), 1));
  std::string whole(head.size() + tail.size(), ' ');
  co_await comm.recv(whole, weft::from(comm.rank(), 1));
  std::cout << whole << '\n';
}

boost::asio::awaitable<void> give_away(weft::communicator comm, std::vector<float> values) {
  std::vector<float> copy(values.size());
  co_await comm.send(std::move(values), weft::to(comm.rank(), 2));
  co_await comm.recv(copy, weft::from(comm.rank(), 2));
}

boost::asio::awaitable<void> through_the_device(weft::communicator comm) {
  constexpr std::size_t count = 1'000'000;
  const weft::device_buffer out = comm.device_buffer(count * sizeof(float), weft::element_type::f32);
  const weft::device_buffer in = comm.device_buffer(count * sizeof(float), weft::element_type::f32);
  weft::batch both;
  both.send(out, weft::to(comm.rank(), 3).via(weft::route::device)).recv(in, weft::from(comm.rank(), 3));
  co_await comm.batch(both);
  std::cout << in.size() << " bytes by " << weft::name(weft::route::device) << '\n';
}

struct kv_block {
  std::string name;
  weft::device_buffer keys;
  weft::device_buffer values;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(name, keys, values);
  }
};

boost::asio::awaitable<void> in_objects(weft::communicator comm) {
  if (comm.rank() == 0) {
    const kv_block block{"layer 7", comm.device_buffer(100), comm.device_buffer(200)};
    co_await weft::send_objects(comm, weft::to(1, 4), block);
    co_return;
  }
  auto [envelope, block] = co_await weft::recv_objects<kv_block>(comm, weft::from(0, 4));
  std::cout << block.name << " has " << block.keys.size() + block.values.size() << " bytes\n";
}

boost::asio::awaitable<int> body(weft::communicator comm, std::vector<std::string>) {
  co_await gather(comm);
  std::vector<float> values(100, 0.5F);
  co_await give_away(comm, std::move(values));
  co_await through_the_device(comm);
  if (comm.size() > 1) co_await in_objects(comm);
  co_return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return weft::run(argc, argv, body);
}
