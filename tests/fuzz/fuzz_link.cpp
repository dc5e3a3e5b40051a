// SPDX-License-Identifier: Apache-2.0
// The input of a link, in pieces of any size: what is told of it depends on the bytes alone.
#include "fuzz_input.hpp"
#include "fuzz_target.hpp"

#include "link/message_input.hpp"
#include "protocol/messages.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

namespace weft::fuzz {
namespace {

using detail::memory_cursor;
using detail::memory_piece;

/// Larger claims are malformed here, as they are where no receive expects so much.
constexpr std::uint64_t most_raw = 4'096;
constexpr unsigned closing_type = 200;

/// Does what an owner does: takes messages, and has the bytes behind `data` read to memory in pieces.
class listener final : public detail::input_events {
 public:
  [[nodiscard]] bool takes_input() const noexcept override { return is_open_; }

  bool on_input(std::uint8_t type, std::span<const std::byte> body) override {
    require(!raw_job_, "no message comes within raw bytes");
    note(type, body);
    if (type == closing_type) is_open_ = false;
    if (static_cast<protocol::message_type>(type) != protocol::message_type::data) return true;
    const auto parsed = protocol::parse<protocol::data>(body);
    if (!parsed || body.size() != sizeof(protocol::data) || parsed->bytes > most_raw) return false;
    raw_job_ = parsed->receive;
    // Less memory than bytes: what is beyond it is dropped.
    memory_.assign(parsed->bytes - parsed->bytes / 8, std::byte{0});
    const std::size_t first = memory_.size() / 3;
    pieces_ = {{memory_.data(), first}, {nullptr, 0}, {memory_.data() + first, memory_.size() - first}};
    input.read_raw(parsed->receive, memory_cursor(pieces_), parsed->bytes);
    return true;
  }

  void on_raw_input(std::uint64_t job, std::uint64_t bytes) override {
    require(raw_job_ == job, "raw bytes are those that were asked for");
    raw_job_.reset();
    note(0, std::as_bytes(std::span(&bytes, 1)));
    note(0, memory_);
  }

  /// All that was told, in order.
  [[nodiscard]] const std::vector<std::byte>& told() const noexcept { return told_; }

  detail::message_input input{*this};

 private:
  void note(std::uint8_t type, std::span<const std::byte> bytes) {
    told_.push_back(static_cast<std::byte>(type));
    told_.insert(told_.end(), bytes.begin(), bytes.end());
  }

  bool is_open_ = true;
  std::optional<std::uint64_t> raw_job_;
  std::vector<std::byte> memory_;
  std::vector<memory_piece> pieces_;
  std::vector<std::byte> told_;
};

/// Reads as much as there is room for, up to `size`; what is left.
std::span<const std::byte> read_some(detail::message_input& input, std::span<const std::byte> bytes, std::size_t size,
                                     bool& is_sound) {
  std::size_t read = 0;
  for (const boost::asio::mutable_buffer& buffer : input.room()) {
    const std::size_t part = std::min({buffer.size(), size - read, bytes.size() - read});
    if (part != 0) std::memcpy(buffer.data(), bytes.data() + read, part);
    read += part;
  }
  is_sound = input.arrived(read);
  return bytes.subspan(read);
}

/// Pieces are as long as `sizes` say, in turn; of any length where it is empty.
bool play(listener& to, std::span<const std::byte> bytes, std::span<const std::byte> sizes) {
  bool is_sound = true;
  for (std::size_t i = 0; is_sound && !bytes.empty() && to.takes_input(); ++i) {
    const std::size_t size = sizes.empty() ? bytes.size() : 1 + std::to_integer<std::size_t>(sizes[i % sizes.size()]);
    bytes = read_some(to.input, bytes, size, is_sound);
  }
  return is_sound;
}

}  // namespace
}  // namespace weft::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft::fuzz;
  fuzz_input input(data, size);
  const auto sizes = input.take(input.below(8));
  const auto bytes = input.rest();
  listener whole;
  listener chopped;
  const bool is_sound = play(whole, bytes, {});
  require(play(chopped, bytes, sizes) == is_sound, "whether bytes are messages does not depend on their pieces");
  require(chopped.told() == whole.told(), "what is told does not depend on the pieces");
  return 0;
}
