// SPDX-License-Identifier: Apache-2.0
// Types that are read by a codec: alone, in containers and within other objects.
#include "fuzz_input.hpp"
#include "fuzz_record.hpp"
#include "fuzz_target.hpp"

#include <weft/serializers/frame.hpp>

#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weft::fuzz {
namespace {

using namespace serializers;

// Bytes that decode are the only ones that encode so: sizes and counts have one form, and so has a bool.
template <class T>
void check(std::span<const std::byte> body) {
  byte_buffer frame;
  frame_writer writer(frame, 1);
  frame.append(body.data(), body.size());
  writer.finish();
  T object{};
  try {
    decode_into(frame.bytes(), limits{.max_depth = 16}, object);
  } catch (const decode_error&) {
    return;
  }
  byte_buffer again;
  encode(again, object);
  require(again.size() == frame.size() && std::memcmp(again.data(), frame.data(), frame.size()) == 0,
          "what was decoded encodes to the same bytes");
}

}  // namespace
}  // namespace weft::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft::fuzz;
  fuzz_input input(data, size);
  switch (input.below(4)) {
    case 0:
      check<record>(input.rest());
      break;
    case 1:
      check<std::vector<record>>(input.rest());
      break;
    case 2:
      check<std::vector<std::pair<std::string, std::optional<record>>>>(input.rest());
      break;
    default:
      check<std::vector<std::vector<record>>>(input.rest());
      break;
  }
  return 0;
}
