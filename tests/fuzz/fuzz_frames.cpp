// SPDX-License-Identifier: Apache-2.0
// Frames of objects: whole, with segments that have arrived, and with segments that are still to come.
#include "frame_input.hpp"
#include "fuzz_objects.hpp"
#include "fuzz_raw.hpp"
#include "fuzz_target.hpp"
#include "same_object.hpp"

#include "serializers_test_allocations.hpp"

#include <cstring>

namespace weft::fuzz {
namespace {

using namespace serializers;

constexpr limits bounds{.max_elements_without_bytes = 64,
                        .max_depth = 32,
                        .max_segments = 16,
                        .max_elements = 100'000,
                        .max_bytes_ahead = 100'000};

/// What the largest element takes for each of its bytes in a frame, a vector's growth included.
constexpr std::size_t amplification = 128;
/// Bytes of error texts, of tables without elements and the like.
constexpr std::size_t small_change = 16'384;

// What comes later is written to all places, so that one which is no object's any more is seen.
void arrive(const segment_reader& segments, std::span<const std::byte> body) {
  std::size_t written = 0;
  for (const landing_place& place : segments.places()) {
    std::memcpy(place.data, body.data() + written, place.bytes);
    written += place.bytes;
  }
  require(written == body.size(), "all bytes of the segments have a place");
}

template <class T>
bool decodes(const frame_input& input, segment_reader& segments, T& object) {
  try {
    decode_into(input.frame.bytes(), segments, bounds, object);
    return true;
  } catch (const decode_error&) {
    return false;
  } catch (const cannot_land&) {
    require(segments.lands(), "segments that have arrived need not land");
    return false;
  }
}

template <class T>
void check(const frame_input& input, bool lands) {
  T object;
  const std::span<const std::byte> body = input.segments;
  segment_reader segments = lands ? segment_reader(std::uint64_t{body.size()}) : segment_reader(body);
  forget_allocations();
  const bool is_sound = decodes(input, segments, object);
  require(largest_allocation() <= amplification * (input.frame.size() + body.size()) + small_change,
          "no memory is taken for what is not there");
  if (!is_sound) return;
  if (lands) arrive(segments, body);
  // What was taken in is as good as any object: it can be sent on, and comes out as it was.
  byte_buffer again;
  encode(again, object);
  T copy;
  decode_into(again.bytes(), limits{}, copy);
  byte_buffer same;
  encode(same, copy);
  require(is_same_object<T>(same.bytes(), again.bytes()), "what was decoded is read again as it was");
}

template <class T>
void check_type(const frame_input& input, bool lands) {
  check<T>(input, lands && late_delivery<T>);
}

}  // namespace
}  // namespace weft::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft::fuzz;
  fuzz_input input(data, size);
  const auto choices = input.next<frame_choices>();
  const frame_input frame(choices, input);
  constexpr std::array checks{check_type<values>,   check_type<containers>, check_type<empties>,
                              check_type<pointers>, check_type<versions>,   check_type<checked>,
                              check_type<late>,     check_type<arrays>,     check_type<cloud>,
                              check_type<grid>,     check_type<point>,      check_type<std::vector<pixel>>};
  checks[choices.type % checks.size()](frame, (choices.flags & frame_choices::lands) != 0);
  return 0;
}
