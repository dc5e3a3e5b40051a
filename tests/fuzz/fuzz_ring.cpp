// SPDX-License-Identifier: Apache-2.0
// Both ends of a ring in memory that is shared with another process, which writes what it likes to all of it between
// their calls.
#include "fuzz_input.hpp"
#include "fuzz_target.hpp"
#include "link_listener.hpp"
#include "scripts.hpp"

#include "link/byte_ring.hpp"
#include "link/message_link.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

namespace weft::fuzz {
namespace {

using boost::asio::const_buffer;
using boost::asio::mutable_buffer;
using detail::ring_bytes;
using detail::ring_memory;
using detail::ring_result;

constexpr std::size_t most_steps = 48;
constexpr std::size_t most_bytes = 2 * ring_bytes;

/// What nobody has written is the header of no message.
constexpr int unwritten = 0xff;

/// Pieces of memory of their exact sizes, which take longer to make than to use: there is one of each for all inputs.
/// @{
ring_memory& shared_ring() {
  static const auto ring = [] {
    auto made = std::make_unique<ring_memory>();
    std::memset(made->bytes, unwritten, ring_bytes);
    return made;
  }();
  return *ring;
}

std::span<const std::byte> pattern(std::size_t size) {
  static const std::vector<std::byte> bytes = [] {
    std::vector<std::byte> made(most_bytes);
    for (std::size_t i = 0; i < made.size(); ++i) made[i] = static_cast<std::byte>(i * 7 + i / 251);
    return made;
  }();
  return std::span(bytes).last(size);
}

std::span<std::byte> room(std::size_t size) {
  static std::vector<std::byte> bytes(most_bytes);
  const auto last = std::span(bytes).last(size);
  std::fill(last.begin(), last.end(), std::byte{0x55});
  return last;
}
/// @}

/// Any size, of any magnitude.
std::size_t next_size(fuzz_input& input) {
  const std::size_t digits = input.byte();
  return std::min(digits << input.below(14), most_bytes);
}

/// The bytes in up to three pieces, of which some may be empty.
template <class Buffer, class Bytes>
std::vector<Buffer> in_pieces(Bytes bytes, fuzz_input& input) {
  std::vector<Buffer> pieces;
  for (unsigned cuts = input.below(3); cuts != 0; --cuts) {
    const std::size_t size = std::min(next_size(input), bytes.size());
    pieces.emplace_back(bytes.data(), size);
    bytes = bytes.subspan(size);
  }
  pieces.emplace_back(bytes.data(), bytes.size());
  return pieces;
}

bool is_same(const std::byte* a, const std::byte* b, std::size_t size) {
  return size == 0 || std::memcmp(a, b, size) == 0;
}

class play {
 public:
  play() = default;
  play(const play&) = delete;
  play& operator=(const play&) = delete;
  // The next one finds the ring as this one has.
  ~play() {
    ring_.written = ring_.taken = 0;
    ring_.reader_sleeps = ring_.writer_sleeps = 0;
    std::memset(ring_.bytes, unwritten, std::min<std::uint64_t>(std::max(written_, scribbled_), ring_bytes));
  }

  void run(fuzz_input& input) {
    for (std::size_t i = 0; i < most_steps && !input.empty(); ++i)
      perform(static_cast<ring_step>(input.below(static_cast<unsigned>(ring_step::count))), input);
  }

 private:
  void perform(ring_step what, fuzz_input& input) {
    switch (what) {
      case ring_step::write:
        return write(in_pieces<const_buffer>(pattern(next_size(input)), input));
      case ring_step::say:
        return say(input);
      case ring_step::read:
        (void)read(in_pieces<mutable_buffer>(room(next_size(input)), input));
        return;
      case ring_step::listen:
        return listen();
      case ring_step::reader_sleeps:
        return fall_asleep(reader_, !reader_.has_input(), ring_.reader_sleeps);
      case ring_step::writer_sleeps:
        return fall_asleep(writer_, !writer_.has_room(), ring_.writer_sleeps);
      case ring_step::wake_reader:
        return reader_.wake();
      case ring_step::set_written:
        ring_.written = next_position(taken_, input);
        return;
      case ring_step::set_taken:
        ring_.taken = next_position(written_, input);
        return;
      case ring_step::set_flags:
        ring_.reader_sleeps = input.byte();
        ring_.writer_sleeps = input.byte();
        return;
      default:
        return scribble(input);
    }
  }

  /// Near one that the other end knows, a ring away from that, or any.
  static std::uint64_t next_position(std::uint64_t known, fuzz_input& input) {
    const unsigned how = input.below(16);
    const std::uint64_t distance = next_size(input);
    if ((how & 1) != 0) known += ring_bytes;
    if ((how & 2) != 0) known -= ring_bytes;
    if ((how & 12) == 12) return input.next<std::uint64_t>();
    return (how & 4) != 0 ? known - distance : known + distance;
  }

  void scribble(fuzz_input& input) {
    const std::size_t at = (next_size(input) + input.byte()) % ring_bytes;
    const auto bytes = input.take(std::min<std::size_t>(input.byte(), ring_bytes - at));
    if (!bytes.empty()) std::memcpy(ring_.bytes + at, bytes.data(), bytes.size());
    scribbled_ = std::max(scribbled_, std::uint64_t{at + bytes.size()});
  }

  void say(fuzz_input& input) {
    const auto type = static_cast<std::uint8_t>(input.byte());
    std::vector<std::byte> message;
    detail::append_message(message, type, input.take(input.byte()));
    write(in_pieces<const_buffer>(std::span(std::as_const(message)), input));
  }

  void write(const std::vector<const_buffer>& buffers) {
    const std::uint64_t held = written_ - ring_.taken;
    const std::uint64_t before = ring_.written;
    const bool slept = ring_.reader_sleeps != 0;
    const auto done = writer_.write(buffers);
    const std::uint64_t from = written_;
    const std::size_t size = check(done, boost::asio::buffer_size(buffers), held, ring_bytes - held);
    written_ += size;
    check_moved(ring_.written, size == 0 ? before : written_);
    check_woken(done, slept, size != 0, ring_.reader_sleeps);
    check_bytes(buffers, from, size);
  }

  std::size_t read(const std::vector<mutable_buffer>& buffers) {
    const std::uint64_t held = ring_.written - taken_;
    const std::uint64_t before = ring_.taken;
    const bool slept = ring_.writer_sleeps != 0;
    const auto done = reader_.read(buffers);
    const std::uint64_t from = taken_;
    const std::size_t size = check(done, boost::asio::buffer_size(buffers), held, held);
    taken_ += size;
    check_moved(ring_.taken, size == 0 ? before : taken_);
    check_woken(done, slept, size != 0 && size == held, ring_.writer_sleeps);
    check_bytes(buffers, from, size);
    return size;
  }

  // As a link does.
  void listen() {
    if (!is_sound_ || !listener_.takes_input()) return;
    const std::size_t size = read(listener_.input.room());
    if (size != 0) is_sound_ = listener_.input.arrived(size);
  }

  template <class End>
  static void fall_asleep(End& end, bool has_nothing, const std::atomic<std::uint32_t>& flag) {
    const bool sleeps = end.fall_asleep();
    require(sleeps == has_nothing, "an end falls asleep if there is nothing to do, and only then");
    require(flag == (sleeps ? 1U : 0U), "the other end is told of that");
  }

  /// How many bytes were moved, of those that were given.
  static std::size_t check(const std::optional<ring_result>& done, std::size_t given, std::uint64_t held,
                           std::uint64_t possible) {
    require(done.has_value() == (given == 0 || held <= ring_bytes), "only impossible positions are an error");
    if (!done) return 0;
    require(given == 0 ? done->bytes == 0 : done->bytes == std::min<std::uint64_t>(given, possible),
            "as much is moved as is given and can be");
    return done->bytes;
  }

  static void check_moved(std::uint64_t position, std::uint64_t expected) {
    require(position == expected, "what was moved is published, and nothing else");
  }

  static void check_woken(const std::optional<ring_result>& done, bool slept, bool has_to_be, std::uint32_t sleeps) {
    const bool woken = done && done->wakes_other;
    require(woken || !slept || !has_to_be, "who sleeps is woken by what it sleeps for");
    require(!woken || (slept && sleeps == 0), "only who sleeps is woken, and once");
  }

  /// The first bytes of the buffers are those that the ring has from a position on.
  template <class Buffer>
  void check_bytes(const std::vector<Buffer>& buffers, std::uint64_t position, std::size_t size) const {
    for (const Buffer& buffer : buffers) {
      const std::size_t part = std::min(buffer.size(), size);
      const std::size_t at = position % ring_bytes;
      const std::size_t before_end = std::min(part, ring_bytes - at);
      const auto* bytes = static_cast<const std::byte*>(buffer.data());
      require(
          is_same(bytes, ring_.bytes + at, before_end) && is_same(bytes + before_end, ring_.bytes, part - before_end),
          "bytes keep their order");
      position += part;
      size -= part;
    }
  }

  ring_memory& ring_ = shared_ring();
  detail::ring_writer writer_{ring_};
  detail::ring_reader reader_{ring_};
  std::uint64_t written_ = 0;  // what the two ends know of themselves
  std::uint64_t taken_ = 0;
  std::uint64_t scribbled_ = 0;  // as far as that
  listener listener_;
  bool is_sound_ = true;
};

}  // namespace
}  // namespace weft::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::fuzz::fuzz_input input(data, size);
  weft::fuzz::play().run(input);
  return 0;
}
