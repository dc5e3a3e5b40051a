// SPDX-License-Identifier: Apache-2.0
// docs/objects.md, "Formats" and "Evolution": JSON, types that travel as their bytes, and versions.
#include <weft/serializers/json.hpp>
#include <weft/weft.hpp>

#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

struct reading {
  static constexpr bool weft_raw = true;
  double seconds;
  float celsius;
  std::uint32_t sensor;
};

struct report {
  std::string station;
  std::vector<reading> readings;
  std::string comment = "none";  // since version 1

  template <class Archive>
  void serialize(Archive& archive, std::uint32_t version) {
    archive(CEREAL_NVP(station), CEREAL_NVP(readings));
    if (version >= 1) archive(CEREAL_NVP(comment));
  }
};
CEREAL_CLASS_VERSION(report, 1)

boost::asio::awaitable<void> send_both(weft::communicator comm, const report& sent) {
  co_await weft::send_objects(comm, weft::to(comm.rank(), 1), sent);              // binary
  co_await weft::send_objects<weft::json>(comm, weft::to(comm.rank(), 1), sent);  // JSON
}

boost::asio::awaitable<std::string> receive_either(weft::communicator comm) {
  auto [envelope, got] = co_await weft::recv_objects<weft::json, report>(comm, weft::from(comm.rank(), 1));
  co_return got.station + ", " + got.comment;
}

namespace {

boost::asio::awaitable<int> measure(weft::communicator comm, std::vector<std::string>) {
  const report sent{"north", {{0.5, 21.5F, 7}}, "calm"};
  co_await send_both(comm, sent);
  std::cout << co_await receive_either(comm) << ", then ";
  std::cout << co_await receive_either(comm) << '\n';
  co_return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return weft::run(argc, argv, measure);
}
