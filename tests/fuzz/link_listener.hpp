// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fuzz_target.hpp"

#include "link/message_input.hpp"
#include "protocol/messages.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace weft::fuzz {

/// Larger claims are malformed here, as they are where no receive expects so much.
inline constexpr std::uint64_t most_raw = 4'096;
/// The owner closes its link at such a message.
inline constexpr unsigned closing_type = 200;

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
    input.read_raw(parsed->receive, detail::memory_cursor(pieces_), parsed->bytes);
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
  std::vector<detail::memory_piece> pieces_;
  std::vector<std::byte> told_;
};

}  // namespace weft::fuzz
