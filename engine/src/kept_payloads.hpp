// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/coro/block_cache.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

namespace weft::detail {

/// Payloads of messages that no receive has matched, by the protocol's message slot. Each takes its bytes and a few
/// more. What is kept is bounded by credit, and messages without payload are not: they cost nothing but 8 bytes each
/// where one nearby has payload.
class kept_payloads {
 public:
  /// Room for the payload of a message, which has none yet.
  [[nodiscard]] std::span<std::byte> keep(std::uint32_t message, std::size_t bytes) {
    if (bytes == 0) return {};
    if (message / per_page >= pages_.size()) pages_.resize(message / per_page + 1);
    std::unique_ptr<page>& on = pages_[message / per_page];
    if (!on) on = std::make_unique<page>();
    payload& made = (*on)[message % per_page] =
        payload(static_cast<std::byte*>(coro::detail::block_cache::take(sizeof bytes + bytes)));
    std::memcpy(made.get(), &bytes, sizeof bytes);
    return content(made);
  }
  [[nodiscard]] std::span<const std::byte> of(std::uint32_t message) const {
    const payload* kept = find(message);
    return kept == nullptr ? std::span<std::byte>() : content(*kept);
  }
  /// Gives the memory back: what was kept must not stay.
  void drop(std::uint32_t message) {
    if (payload* kept = find(message)) kept->reset();
  }

 private:
  // Its size goes before it. Small ones come and go with every message that is not waited for.
  struct give_back {
    void operator()(std::byte* kept) const noexcept {
      std::size_t bytes = 0;
      std::memcpy(&bytes, kept, sizeof bytes);
      coro::detail::block_cache::give(kept, sizeof bytes + bytes);
    }
  };
  using payload = std::unique_ptr<std::byte[], give_back>;
  static constexpr std::uint32_t per_page = 256;
  using page = std::array<payload, per_page>;

  [[nodiscard]] payload* find(std::uint32_t message) const {
    const std::uint32_t number = message / per_page;
    if (number >= pages_.size() || !pages_[number] || !(*pages_[number])[message % per_page]) return nullptr;
    return &(*pages_[number])[message % per_page];
  }
  static std::span<std::byte> content(const payload& kept) {
    std::size_t bytes = 0;
    std::memcpy(&bytes, kept.get(), sizeof bytes);
    return {kept.get() + sizeof bytes, bytes};
  }

  std::vector<std::unique_ptr<page>> pages_;
};

}  // namespace weft::detail
