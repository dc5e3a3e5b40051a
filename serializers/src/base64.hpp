// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/serializers/byte_buffer.hpp>

#include <cstddef>
#include <span>
#include <string_view>

namespace weft::serializers {

/// Appends bytes as base64 (RFC 4648, with padding).
void append_base64(byte_buffer& out, std::span<const std::byte> bytes);

/// How many bytes a base64 text of this length stands for, if it is one; reads its padding.
[[nodiscard]] std::size_t size_of_base64(std::string_view text) noexcept;

/// Reads so many bytes; whether `text` was base64 as `append_base64` writes it.
[[nodiscard]] bool read_base64(std::string_view text, std::span<std::byte> bytes) noexcept;

}  // namespace weft::serializers
