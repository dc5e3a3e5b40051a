// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace weft::fuzz {

/// An input that is being put together.
struct input_bytes {
  std::vector<std::byte> bytes;

  /// As they lie in memory.
  template <class... Values>
  void put(const Values&... values) {
    static_assert((std::is_trivially_copyable_v<Values> && ...));
    (append(std::as_bytes(std::span(&values, 1))), ...);
  }
  void append(std::span<const std::byte> more) { bytes.insert(bytes.end(), more.begin(), more.end()); }
};

/// What happens to one of the targets that play, in steps.
struct script {
  std::string name;
  input_bytes input;

  /// The step, and the bytes that decide about it.
  template <class Step, class... Choices>
  script& then(Step what, Choices... choices) {
    input.put(what, static_cast<std::uint8_t>(choices)...);
    return *this;
  }
};

[[nodiscard]] std::vector<script> endpoint_scripts();
[[nodiscard]] std::vector<script> log_scripts();
[[nodiscard]] std::vector<script> ring_scripts();
[[nodiscard]] std::vector<script> sequencer_scripts();

}  // namespace weft::fuzz
