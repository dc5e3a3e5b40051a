// SPDX-License-Identifier: Apache-2.0
// The input of a link, in pieces of any size: what is told of it depends on the bytes alone.
#include "fuzz_input.hpp"
#include "fuzz_target.hpp"
#include "link_listener.hpp"

#include <algorithm>
#include <cstring>

namespace weft::fuzz {
namespace {

/// Reads as much as there is room for, up to `size`; what is left.
std::span<const std::byte> read_some(detail::message_input& input, std::span<const std::byte> bytes, std::size_t size,
                                     bool& is_sound) {
  std::size_t read = 0;
  for (const boost::asio::mutable_buffer& buffer : input.room()) {
    const std::size_t part = std::min({buffer.size(), size - read, bytes.size() - read});
    if (part != 0) std::memcpy(buffer.data(), bytes.data() + read, part);
    read += part;
  }
  is_sound = input.arrived(read);
  return bytes.subspan(read);
}

/// Pieces are as long as `sizes` say, in turn; of any length where it is empty.
bool play(listener& to, std::span<const std::byte> bytes, std::span<const std::byte> sizes) {
  bool is_sound = true;
  for (std::size_t i = 0; is_sound && !bytes.empty() && to.takes_input(); ++i) {
    const std::size_t size = sizes.empty() ? bytes.size() : 1 + std::to_integer<std::size_t>(sizes[i % sizes.size()]);
    bytes = read_some(to.input, bytes, size, is_sound);
  }
  return is_sound;
}

}  // namespace
}  // namespace weft::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft::fuzz;
  fuzz_input input(data, size);
  const auto sizes = input.take(input.below(8));
  const auto bytes = input.rest();
  listener whole;
  listener chopped;
  const bool is_sound = play(whole, bytes, {});
  require(play(chopped, bytes, sizes) == is_sound, "whether bytes are messages does not depend on their pieces");
  require(chopped.told() == whole.told(), "what is told does not depend on the pieces");
  return 0;
}
