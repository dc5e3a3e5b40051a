// SPDX-License-Identifier: Apache-2.0
#include <weft/serializers/binary_archive.hpp>

#include <string>

namespace weft::serializers {

void binary_input_archive::fail_count(std::uint64_t count) const {
  in_.fail("a count of " + std::to_string(count) + " elements",
           "at most one for each of the " + std::to_string(in_.remaining()) + " bytes that remain, and " +
               std::to_string(without_bytes_left()) + " that take no bytes (limits::max_elements_without_bytes)");
}

void binary_input_archive::fail_without_bytes() const {
  in_.fail("more than " + std::to_string(without_bytes_) + " elements that take no bytes",
           "no more of them; raise limits::max_elements_without_bytes to allow more");
}

void binary_input_archive::fail_depth() const {
  in_.fail("objects within one another " + std::to_string(depth_) + " deep",
           "at most " + std::to_string(limits_.max_depth) + "; raise limits::max_depth to allow more");
}

}  // namespace weft::serializers
