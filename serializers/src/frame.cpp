// SPDX-License-Identifier: Apache-2.0
#include <weft/serializers/frame.hpp>

#include <string>

namespace weft::serializers {

void detail::fail_to_load(const reader& in, const std::exception& problem, std::string_view types) {
  in.fail(std::string("bytes that cannot be loaded (") + problem.what() + ")", "objects of type " + std::string(types));
}

std::vector<std::uint64_t> segment_sizes(std::span<const std::byte> frame, std::uint32_t objects, std::uint64_t bytes,
                                         const limits& bounds) {
  reader whole(frame);
  (void)whole.read_part(read_frame_header(whole, objects));
  segment_reader segments(bytes);
  segments.read_table(whole, bounds);
  return segments.sizes();
}

}  // namespace weft::serializers
