// SPDX-License-Identifier: Apache-2.0
#include "link/rendezvous_messages.hpp"

#include <weft/engine/error.hpp>

#include <algorithm>
#include <array>

namespace weft::detail {
namespace {

namespace asio = boost::asio;

// Cards are shorter, and messages that are longer than that help nobody.
constexpr std::size_t longest_text = 4096;

void append_number(std::vector<std::byte>& out, std::uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<std::byte>(value >> shift));
}

void append_text(std::vector<std::byte>& out, const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text)).first(std::min(text.size(), longest_text));
  append_number(out, static_cast<std::uint32_t>(bytes.size()));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

asio::awaitable<std::uint32_t> read_number(byte_source& from) {
  std::array<std::byte, 4> bytes;
  co_await from.read(bytes);
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) value |= std::to_integer<std::uint32_t>(bytes[i]) << (8 * i);
  co_return value;
}

asio::awaitable<std::string> read_text(byte_source& from) {
  const std::uint32_t size = co_await read_number(from);
  if (size > longest_text)
    throw error(errc::malformed_message, "a text of " + std::to_string(size) + " bytes at the rendezvous: at most " +
                                             std::to_string(longest_text) + " are allowed");
  std::string text(size, '\0');
  co_await from.read(std::as_writable_bytes(std::span(text)));
  if (!std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c < '\x7f'; }))
    throw error(errc::malformed_message, "a text at the rendezvous is not printable");
  co_return text;
}

}  // namespace

std::vector<std::byte> encode(const contribution& what) {
  std::vector<std::byte> out;
  const auto patience = std::clamp<std::int64_t>(what.patience.count(), 0, UINT32_MAX);
  append_number(out, static_cast<std::uint32_t>(patience));
  append_text(out, what.who);
  append_text(out, what.card);
  return out;
}

std::vector<std::byte> encode(const reply& what) {
  std::vector<std::byte> out;
  append_number(out, static_cast<std::uint32_t>(what.kind));
  for (const std::string& text : what.texts) append_text(out, text);
  return out;
}

asio::awaitable<contribution> read_contribution(byte_source& from) {
  contribution what;
  const std::uint32_t patience = co_await read_number(from);
  what.patience = std::chrono::milliseconds(patience);
  what.who = co_await read_text(from);
  what.card = co_await read_text(from);
  co_return what;
}

asio::awaitable<reply> read_reply(byte_source& from, int world_size) {
  reply what;
  const std::uint32_t kind = co_await read_number(from);
  if (kind > static_cast<std::uint32_t>(reply_kind::timed_out))
    throw error(errc::malformed_message, "rank 0 answers what no rank can understand: kind " + std::to_string(kind));
  what.kind = static_cast<reply_kind>(kind);
  const int texts = what.kind == reply_kind::cards ? world_size : 1;
  for (int i = 0; i < texts; ++i) {
    std::string text = co_await read_text(from);
    what.texts.push_back(std::move(text));
  }
  co_return what;
}

}  // namespace weft::detail
