// SPDX-License-Identifier: Apache-2.0
#include <weft/serializers/binary_archive.hpp>

#include <stdexcept>
#include <string>

namespace weft::serializers {

binary_output_archive::binary_output_archive(byte_buffer& out, segment_list* segments)
    : OutputArchive(this), out_(out), segments_(segments) {}
binary_output_archive::~binary_output_archive() = default;

void binary_output_archive::lend_apart(const void* holder, const void* data, std::size_t bytes, std::int16_t device) {
  if (segments_ == nullptr) throw std::logic_error("memory of a device travels only where frames may have segments");
  if (!lenders_.lends(holder))
    throw std::logic_error(
        "memory of a device is sent from where it lies: its owner must be a member of the objects given, or an element "
        "of their containers, and no key");
  segments_->add_apart(data, bytes, device);
}

binary_input_archive::binary_input_archive(reader& in, const limits& bounds, segment_reader* segments)
    : InputArchive(this), in_(in), pointers_(in), limits_(bounds), segments_(segments) {}
binary_input_archive::~binary_input_archive() = default;

void binary_input_archive::fail_count(std::uint64_t count) const {
  in_.fail("a count of " + std::to_string(count) + " elements",
           "at most one for each of the " + std::to_string(in_.remaining()) + " bytes that remain, and " +
               std::to_string(without_bytes_left()) + " that take no bytes (limits::max_elements_without_bytes)");
}

void binary_input_archive::fail_without_bytes() const {
  throw limit_exceeded(in_.offset(), "max_elements_without_bytes", without_bytes_ + 1,
                       limits_.max_elements_without_bytes, "elements that take no bytes");
}

void binary_input_archive::fail_depth() const {
  throw limit_exceeded(in_.offset(), "max_depth", depth_, limits_.max_depth, "objects within one another");
}

void binary_input_archive::fail_segment(std::uint64_t bytes) const {
  in_.fail("a segment of " + std::to_string(bytes) + " bytes",
           keys_ != 0 ? "none in a key" : "none, since this frame has no segments");
}

void binary_input_archive::fail_elements(std::uint64_t count) const {
  throw limit_exceeded(in_.offset(), "max_elements", count, limits_.max_elements, "elements in one container");
}

}  // namespace weft::serializers
