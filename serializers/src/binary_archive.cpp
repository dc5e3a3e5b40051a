// SPDX-License-Identifier: Apache-2.0
#include <weft/serializers/binary_archive.hpp>

#include <string>

namespace weft::serializers {

binary_output_archive::binary_output_archive(byte_buffer& out) : OutputArchive(this), out_(out) {}
binary_output_archive::~binary_output_archive() = default;

binary_input_archive::binary_input_archive(reader& in, const limits& bounds)
    : InputArchive(this), in_(in), pointers_(in), limits_(bounds) {}
binary_input_archive::~binary_input_archive() = default;

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
