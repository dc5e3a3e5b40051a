// SPDX-License-Identifier: Apache-2.0
// docs/index.md, "Objects": a type with a cereal function, one with a codec, and a name that outlives a renaming.
#include <weft/weft.hpp>

#include <cstdint>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

struct money {
  std::int64_t cents = 0;
};

template <>
struct weft::serializers::codec<money> {
  static void encode(byte_buffer& out, const money& object) { out.append(object.cents); }
  static money decode(reader& in) { return {in.read<std::int64_t>()}; }
};

struct bill {
  static constexpr std::string_view weft_type_name = "shop.bill";
  std::string customer;
  std::vector<money> items;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(customer, items);
  }
};

namespace {

boost::asio::awaitable<int> pay(weft::communicator comm, std::vector<std::string>) {
  const bill sent{"Ada", {{250}, {199}}};
  co_await weft::send_objects(comm, weft::to(comm.rank(), 1), sent, sent.items.size());
  auto [envelope, got, items] = co_await weft::recv_objects<bill, std::size_t>(comm, weft::from(comm.rank(), 1));
  std::cout << got.customer << " pays " << got.items.front().cents << " cents for the first of " << items << '\n';
  co_return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return weft::run(argc, argv, pay);
}
