// SPDX-License-Identifier: Apache-2.0
#include <weft/serializers/segments.hpp>

#include <weft/serializers/detail/lies_in.hpp>

#include <algorithm>
#include <cstring>

#include <string>

namespace weft::serializers {
namespace {

using size_entry = std::uint64_t;

}  // namespace

bool segment_list::lies_in_excluded(const void* data) const noexcept {
  return detail::lies_in(excluded_.data, excluded_.bytes, data);
}

void segment_reader::read_table(reader& table, const limits& bounds) {
  const std::size_t count = table.remaining() / sizeof(size_entry);
  if (table.remaining() % sizeof(size_entry) != 0)
    table.fail("a table of segments of " + std::to_string(table.remaining()) + " bytes", "8 bytes for each segment");
  if (count > bounds.max_segments)
    throw limit_exceeded(table.offset(), "max_segments", count, bounds.max_segments, "segments");
  if (lands_ && bytes_ > bounds.max_bytes_ahead)
    throw limit_exceeded(table.offset(), "max_bytes_ahead", bytes_, bounds.max_bytes_ahead, "bytes that are to come");
  std::uint64_t left = bytes_;
  const std::size_t begin = table.offset();
  const std::span<const std::byte> whole = reader(table).read_bytes(table.remaining());
  for (std::size_t i = 0; i != count; ++i) {
    const auto bytes = table.read<size_entry>();
    if (bytes == 0 || bytes > left)
      throw decode_error(begin + i * sizeof(size_entry), "a segment of " + std::to_string(bytes) + " bytes",
                         "1 to " + std::to_string(left) + " bytes, which are left behind the frame");
    left -= bytes;
  }
  if (left != 0)
    table.fail(std::to_string(left) + " bytes behind the frame that no segment has", "segments that have them all");
  table_ = whole;
}

std::vector<std::uint64_t> segment_reader::sizes() const {
  std::vector<std::uint64_t> all(table_.size() / sizeof(size_entry));
  if (!all.empty()) std::memcpy(all.data(), table_.data(), table_.size());
  return all;
}

void segment_reader::take_size(const reader& in, std::uint64_t bytes) {
  if (table_.empty())
    in.fail("a segment of " + std::to_string(bytes) + " bytes", "no more segments than the frame has");
  size_entry size = 0;
  std::memcpy(&size, table_.data(), sizeof size);
  if (size != bytes)
    in.fail("elements of " + std::to_string(bytes) + " bytes", "the segment's " + std::to_string(size) + " bytes");
  table_ = table_.subspan(sizeof size);
}

const std::byte* segment_reader::next(const reader& in, std::uint64_t bytes) {
  if (!apart_.empty())
    in.fail("a segment in memory of the host", "none, since those of this message lie in a device's");
  take_size(in, bytes);
  if (lands_) return nullptr;
  const std::byte* const data = arrived_.data();
  arrived_ = arrived_.subspan(bytes);
  copied_ += bytes;
  return data;
}

std::shared_ptr<void> segment_reader::next_apart(const reader& in, std::uint64_t bytes) {
  if (apart_.empty()) in.fail("memory of a device", "none, or no more than has come with this message");
  take_size(in, bytes);
  std::shared_ptr<void> owner = apart_.front();
  apart_ = apart_.subspan(1);
  return owner;
}

void segment_reader::land(void* data, std::size_t bytes, const void* holder, std::size_t holder_bytes) {
  if (detail::lies_in(holder, holder_bytes, data) && !stays(data)) throw cannot_land();
  places_.push_back({static_cast<std::byte*>(data), bytes});
}

bool segment_reader::stays(const void* data) const noexcept {
  return std::any_of(fixed_.begin(), fixed_.end(),
                     [data](const segment& one) { return detail::lies_in(one.data, one.bytes, data); });
}

void segment_reader::expect_end(const reader& in) const {
  if (!table_.empty())
    in.fail(std::to_string(table_.size() / sizeof(size_entry)) + " segments that no object has asked for",
            "objects that take them all");
}

}  // namespace weft::serializers
