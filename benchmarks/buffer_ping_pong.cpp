// SPDX-License-Identifier: Apache-2.0
#include "pattern.hpp"
#include "ping_pong.hpp"

#include <cstddef>
#include <vector>

namespace weft::bench {
namespace {

class buffer_channel {
 public:
  explicit buffer_channel(const pair_end& end) : end_(end), outgoing_(end.size), incoming_(end.size) {}

  [[nodiscard]] send_operation send() const { return end_.comm.send(outgoing_, end_.payload_to); }
  [[nodiscard]] receive_operation receive() { return end_.comm.recv(incoming_, end_.payload_from); }
  void keep(received&&) const noexcept {}  // the bytes are in place

  void fill(std::uint64_t seed) noexcept { bench::fill(outgoing_, seed); }
  void check(std::uint64_t seed) const { bench::check(incoming_, seed); }

 private:
  pair_end end_;
  std::vector<std::byte> outgoing_;
  std::vector<std::byte> incoming_;
};

}  // namespace

std::unique_ptr<workload> make_buffer_ping_pong(const weft::communicator& comm, const options& asked) {
  return std::make_unique<ping_pong<buffer_channel>>(pair_end(comm, asked));
}

}  // namespace weft::bench
