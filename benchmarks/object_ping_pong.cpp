// SPDX-License-Identifier: Apache-2.0
#include "pattern.hpp"
#include "ping_pong.hpp"

#include <weft/engine/objects.hpp>

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

namespace weft::bench {
namespace {

/// A small header and a payload, as requests of a server have them.
struct parcel {
  std::uint64_t seed = 0;
  std::string label;
  std::vector<std::uint8_t> payload;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(seed, label, payload);
  }
};

std::string label_of(std::uint64_t seed) {
  return "parcel " + std::to_string(seed);
}

class object_channel {
 public:
  explicit object_channel(const pair_end& end) : end_(end) { outgoing_.payload.resize(end.size); }

  [[nodiscard]] auto send() const { return send_objects(end_.comm, end_.payload_to, outgoing_); }
  [[nodiscard]] auto receive() const { return recv_objects<parcel>(end_.comm, end_.payload_from); }
  void keep(received_objects<parcel>&& result) { incoming_ = std::get<0>(std::move(result.values)); }

  void fill(std::uint64_t seed) {
    outgoing_.seed = seed;
    outgoing_.label = label_of(seed);
    bench::fill(std::as_writable_bytes(std::span(outgoing_.payload)), seed);
  }

  void check(std::uint64_t seed) const {
    if (incoming_.seed != seed || incoming_.label != label_of(seed) || incoming_.payload.size() != end_.size)
      throw std::runtime_error("an object arrived damaged: '" + incoming_.label + "' with " +
                               std::to_string(incoming_.payload.size()) + " bytes should be '" + label_of(seed) +
                               "' with " + std::to_string(end_.size));
    bench::check(std::as_bytes(std::span(incoming_.payload)), seed);
  }

 private:
  pair_end end_;
  parcel outgoing_;
  parcel incoming_;
};

}  // namespace

std::unique_ptr<workload> make_object_ping_pong(const weft::communicator& comm, const options& asked) {
  return std::make_unique<ping_pong<object_channel>>(pair_end(comm, asked));
}

}  // namespace weft::bench
