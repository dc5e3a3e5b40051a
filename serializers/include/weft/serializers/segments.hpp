// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/serializers/limits.hpp>
#include <weft/serializers/reader.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

// Contiguous numbers need no archive: large ranges of them travel behind the frame, from where they lie, as segments.
// Where the archive has the number of their elements, its highest bit says so; the frame ends with the size of each, in
// the order of the archive. Memory that the host does not reach is a segment, whatever its size; in a message with some
// of it all other ranges are in the archive, because what follows a frame lies in one kind of memory.
namespace weft::serializers {

/// Ranges of at least so many bytes become segments. Below it a copy into the archive is cheaper than the bookkeeping
/// of one more piece of memory: 8 KiB are copied in less than a microsecond.
inline constexpr std::size_t default_segment_threshold = 8'192;

/// The bit of a count that says that the elements are a segment.
inline constexpr std::uint64_t segment_bit = std::uint64_t{1} << 63;

/// Fixed arrays of at least so many bytes, which have no count, begin with a byte that says whether they are a segment.
inline constexpr std::size_t smallest_marked_array = 8'192;

/// Memory of an object that travels behind its frame, and must stay as it is until it has.
struct segment {
  const std::byte* data = nullptr;          ///< where it lies
  std::size_t bytes = 0;                    ///< never 0
  std::optional<std::int16_t> device = {};  ///< in whose memory, where the host does not reach it
};

/// What objects give to be sent from where it lies, while they are serialized.
class segment_list {
 public:
  /// Ranges of at least `threshold` bytes are taken.
  explicit segment_list(std::size_t threshold = default_segment_threshold) : threshold_(threshold) {}

  /// Nothing is taken that lies in there: these bytes will be moved elsewhere.
  void exclude(const void* begin, std::size_t bytes) noexcept {
    excluded_ = {static_cast<const std::byte*>(begin), bytes};
  }
  /// Whether the range becomes a segment.
  [[nodiscard]] bool takes(const void* data, std::size_t bytes) const noexcept {
    return bytes >= threshold_ && bytes != 0 && !lies_in_excluded(data);
  }
  /// One more segment, behind the others.
  void add(const void* data, std::size_t bytes) {
    segments_.push_back({static_cast<const std::byte*>(data), bytes});
    bytes_ += bytes;
  }

  /// The same for memory of that device, of any size but 0.
  void add_apart(const void* data, std::size_t bytes, std::int16_t device) {
    add(data, bytes);
    segments_.back().device = device;
    ++apart_;
  }
  /// Whether they lie in memory of both kinds: then the objects are to be serialized once more.
  [[nodiscard]] bool is_mixed() const noexcept { return apart_ != 0 && apart_ != segments_.size(); }
  /// Begins anew, and takes nothing but what lies apart.
  void restart_apart() noexcept {
    threshold_ = std::numeric_limits<std::size_t>::max();
    segments_.clear();
    bytes_ = apart_ = 0;
  }

  /// All of them, in order, and their sum.
  /// @{
  [[nodiscard]] std::span<const segment> segments() const noexcept { return segments_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  /// @}

 private:
  [[nodiscard]] bool lies_in_excluded(const void* data) const noexcept;

  std::size_t threshold_;
  std::vector<segment> segments_;
  std::uint64_t bytes_ = 0;
  std::size_t apart_ = 0;
  segment excluded_;
};

/// Memory of an object that is loaded, for bytes that have not arrived yet.
struct landing_place {
  std::byte* data = nullptr;  ///< where they go
  std::size_t bytes = 0;      ///< how many
};

/// Thrown while objects are loaded whose segments have not arrived, by one whose memory might move until they have.
/// They are to be loaded once more when all has arrived.
struct cannot_land {};

/// Gives the segments of a frame to the objects that are loaded, in order: the bytes themselves where they have
/// arrived, else the obligation to say where they are to go.
class segment_reader {
 public:
  /// The segments have arrived, one behind the other, and are copied out.
  explicit segment_reader(std::span<const std::byte> arrived) noexcept
      : arrived_(arrived), bytes_(arrived.size()), lands_(false) {}
  /// `bytes` of segments are to come.
  explicit segment_reader(std::uint64_t bytes) noexcept : bytes_(bytes), lands_(true) {}

  /// They have arrived in memory that the host does not reach, each in a piece of its own, whose owners these are.
  explicit segment_reader(std::span<const std::shared_ptr<void>> apart, std::uint64_t bytes) noexcept
      : bytes_(bytes), lands_(false), apart_(apart) {}

  /// Reads the sizes, which must add up. Throws `decode_error`, and `limit_exceeded` for more than `limits` allow.
  void read_table(reader& table, const limits& bounds);
  /// Memory that stays where it is until all has arrived, whatever the object that it belongs to does.
  void add_fixed(const void* begin, std::size_t bytes) {
    if (lands_) fixed_.push_back({static_cast<const std::byte*>(begin), bytes});
  }

  /// Whether the bytes are still to come.
  [[nodiscard]] bool lands() const noexcept { return lands_; }
  /// The next segment, of that size; `in` is where it is asked for. Null where the bytes are still to come: `land` says
  /// where to.
  [[nodiscard]] const std::byte* next(const reader& in, std::uint64_t bytes);
  /// The next segment, of that size, which lies apart: its owner.
  [[nodiscard]] std::shared_ptr<void> next_apart(const reader& in, std::uint64_t bytes);
  /// The memory of the segment that `next` was called for. Where it lies in `holder`, an object which may be moved on,
  /// that is one that stays (`add_fixed`), or `cannot_land` is thrown.
  void land(void* data, std::size_t bytes, const void* holder, std::size_t holder_bytes);

  /// Throws a `decode_error` unless all have been read.
  void expect_end(const reader& in) const;

  /// The sizes of those that were not read yet.
  [[nodiscard]] std::vector<std::uint64_t> sizes() const;
  /// Where the segments are to go, in order.
  [[nodiscard]] std::span<const landing_place> places() const noexcept { return places_; }
  /// The bytes that were copied out.
  [[nodiscard]] std::uint64_t copied() const noexcept { return copied_; }

 private:
  void take_size(const reader& in, std::uint64_t bytes);
  [[nodiscard]] bool stays(const void* data) const noexcept;

  std::span<const std::byte> arrived_;
  std::uint64_t bytes_;
  bool lands_;
  std::span<const std::shared_ptr<void>> apart_;
  std::span<const std::byte> table_;
  std::uint64_t copied_ = 0;
  std::vector<landing_place> places_;
  std::vector<segment> fixed_;
};

}  // namespace weft::serializers
