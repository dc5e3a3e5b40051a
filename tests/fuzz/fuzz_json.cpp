// SPDX-License-Identifier: Apache-2.0
// Texts that are to be objects: by members and by position, with keys missing, unknown or twice, of any kind.
#include "fuzz_input.hpp"
#include "fuzz_objects.hpp"
#include "fuzz_raw.hpp"
#include "fuzz_report.hpp"
#include "fuzz_target.hpp"
#include "same_object.hpp"

#include "serializers_test_allocations.hpp"

#include <array>

namespace weft::fuzz {
namespace {

using namespace serializers;

constexpr limits bounds{.max_depth = 32, .max_elements = 64};
/// Of what is read again: objects may be deeper by the members whose keys were missing.
constexpr limits elements_bounds{.max_elements = bounds.max_elements};

/// What the shortest texts of a number or an object take in memory for each of their bytes, a vector's growth included.
constexpr std::size_t amplification = 128;
/// Of error texts, and of what is always there.
constexpr std::size_t small_change = 16'384;

template <class T>
void decode_json(const byte_buffer& frame, const limits& within, T& object) {
  segment_reader none(std::span<const std::byte>{});
  json::decode_into(frame.bytes(), none, within, object);
}

template <class Format, class T>
byte_buffer encoded(const T& object) {
  byte_buffer frame;
  segment_list segments(SIZE_MAX);
  Format::encode(frame, segments, object);
  return frame;
}

// What was taken in is as good as any object: it can be sent on, in either format, and comes out as it was.
template <class Format, class T>
void check_again(const T& object, const byte_buffer& text) {
  T copy;
  decode_json(encoded<Format>(object), elements_bounds, copy);
  require(is_same_object<T>(encoded<json>(copy).bytes(), text.bytes()), "what was decoded is read again as it was");
}

template <class T>
void check(std::span<const std::byte> text) {
  byte_buffer frame;
  frame_writer writer(frame, 1, serializer_id::json);
  frame.append(text.data(), text.size());
  writer.finish();
  T object;
  forget_allocations();
  bool is_sound = true;
  try {
    decode_json(frame, bounds, object);
  } catch (const decode_error&) {
    is_sound = false;
  }
  require(largest_allocation() <= amplification * text.size() + small_change,
          "no memory is taken for what is not there");
  if (!is_sound) return;
  const byte_buffer again = encoded<json>(object);
  check_again<json>(object, again);
  check_again<binary>(object, again);
}

}  // namespace
}  // namespace weft::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft::fuzz;
  fuzz_input input(data, size);
  constexpr std::array checks{check<values>,  check<containers>, check<empties>, check<pointers>, check<versions>,
                              check<checked>, check<late>,       check<cloud>,   check<report>};
  const unsigned type = input.below(checks.size());
  checks[type](input.rest());
  return 0;
}
