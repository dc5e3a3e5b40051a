// SPDX-License-Identifier: Apache-2.0
#include "link/message_input.hpp"
#include "link/message_link.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

using namespace weft::detail;
using bytes = std::vector<std::byte>;

namespace {

constexpr std::uint8_t plain = 100;
constexpr std::uint8_t with_raw = 101;  // its body says how many bytes follow
constexpr std::uint8_t malformed = 102;

/// Keeps all that has arrived.
struct listener final : input_events {
  [[nodiscard]] bool takes_input() const noexcept override { return true; }
  bool on_input(std::uint8_t type, std::span<const std::byte> body) override {
    bodies.emplace_back(body.begin(), body.end());
    if (type == with_raw) {
      memory.assign(std::to_integer<std::size_t>(body[0]), std::byte{0});
      piece = {memory.data(), memory.size()};
      input.read_raw(7, memory_cursor(std::span(&piece, 1)), memory.size());
    }
    return type != malformed;
  }
  void on_raw_input(std::uint64_t job, std::uint64_t size) override { raw.emplace_back(job, size); }

  /// False: it is no sequence of messages.
  bool read(std::span<const std::byte> arriving, std::size_t piece_size) {
    while (!arriving.empty()) {
      std::size_t read = 0;
      for (const auto& buffer : input.room()) {
        const std::size_t part = std::min({buffer.size(), arriving.size() - read, piece_size - read});
        std::memcpy(buffer.data(), arriving.data() + read, part);
        read += part;
      }
      arriving = arriving.subspan(read);
      if (!input.arrived(read)) return false;
    }
    return true;
  }

  std::vector<bytes> bodies;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> raw;
  bytes memory;
  memory_piece piece;
  message_input input{*this};
};

bytes message(std::uint8_t type, const bytes& body) {
  bytes out;
  append_message(out, type, body);
  return out;
}

bytes operator+(bytes left, const bytes& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

}  // namespace

TEST_CASE("messages and raw bytes are the same in pieces of any size") {
  const bytes raw(40, std::byte{9});
  const bytes all = message(plain, bytes(20, std::byte{1})) + message(with_raw, {std::byte{40}}) + raw +
                    message(with_raw, {std::byte{0}}) + message(plain, {});
  for (std::size_t size = 1; size <= all.size(); ++size) {
    CAPTURE(size);
    listener to;
    REQUIRE(to.read(all, size));
    REQUIRE(to.bodies.size() == 4);
    CHECK(to.bodies[0] == bytes(20, std::byte{1}));
    CHECK(to.bodies[3].empty());
    CHECK(to.raw == std::vector<std::pair<std::uint64_t, std::uint64_t>>{{7, 40}, {7, 0}});
  }
}

TEST_CASE("raw bytes go to where they belong") {
  const bytes raw(40, std::byte{9});
  for (const std::size_t size : {1U, 7U, 1'000U}) {
    listener to;
    REQUIRE(to.read(message(with_raw, {std::byte{40}}) + raw, size));
    CHECK(to.memory == raw);
  }
}

TEST_CASE("a message is refused for its size before it has arrived, and whatever its pieces") {
  bytes longest = message(plain, bytes(read_space / 2 - 8));
  for (const std::size_t size : {std::size_t{1'000}, longest.size()}) {
    listener to;
    CHECK(to.read(longest, size));
    CHECK(to.bodies.size() == 1);
  }
  const bytes longer = message(plain, bytes(read_space / 2 - 7));
  for (const std::size_t size : {std::size_t{8}, longer.size()}) {
    listener to;
    CHECK_FALSE(to.read(longer, size));
    CHECK(to.bodies.empty());
  }
}

TEST_CASE("what follows a malformed message is not looked at") {
  listener to;
  CHECK_FALSE(to.read(message(malformed, {}) + message(plain, {}), 1'000));
  CHECK(to.bodies.size() == 1);
}
