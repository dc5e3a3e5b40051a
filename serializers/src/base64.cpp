// SPDX-License-Identifier: Apache-2.0
#include "base64.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace weft::serializers {
namespace {

constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint32_t no_digit = 64;

constexpr auto values = [] {
  std::array<std::uint8_t, 256> made{};
  made.fill(no_digit);
  for (std::size_t i = 0; i != digits.size(); ++i)
    made[static_cast<unsigned char>(digits[i])] = static_cast<std::uint8_t>(i);
  return made;
}();

std::uint32_t value_of(char digit) noexcept {
  return values[static_cast<unsigned char>(digit)];
}

}  // namespace

void append_base64(byte_buffer& out, std::span<const std::byte> bytes) {
  auto* next = reinterpret_cast<char*>(out.extend((bytes.size() + 2) / 3 * 4));
  for (; !bytes.empty(); bytes = bytes.subspan(std::min<std::size_t>(3, bytes.size()))) {
    std::uint32_t group = 0;
    for (std::size_t i = 0; i != 3; ++i)
      group = group << 8 | (i < bytes.size() ? std::to_integer<std::uint32_t>(bytes[i]) : 0);
    for (std::size_t i = 0; i != 4; ++i) *next++ = i <= bytes.size() ? digits[group >> (18 - 6 * i) & 63] : '=';
  }
}

std::size_t size_of_base64(std::string_view text) noexcept {
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  return text.size() / 4 * 3 - std::min(padding, text.size() / 4 * 3);
}

bool read_base64(std::string_view text, std::span<std::byte> bytes) noexcept {
  if (text.size() % 4 != 0 || bytes.size() != size_of_base64(text)) return false;
  for (; !text.empty(); text.remove_prefix(4)) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size());
    std::uint32_t group = 0;
    for (std::size_t i = 0; i != 4; ++i) {
      const std::uint32_t value = i <= count ? value_of(text[i]) : 0;
      if (value == no_digit) return false;
      group = group << 6 | value;
    }
    for (std::size_t i = 0; i != count; ++i) bytes[i] = static_cast<std::byte>(group >> (16 - 8 * i));
    // What is cut off is zero: each range of bytes has one text.
    if (count < 3 && (group & ((1U << (24 - 8 * count)) - 1)) != 0) return false;
    bytes = bytes.subspan(count);
  }
  return true;
}

}  // namespace weft::serializers
