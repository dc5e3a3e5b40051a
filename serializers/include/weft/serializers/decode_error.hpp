// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

namespace weft::serializers {

/// A frame does not decode. `what()` reads "frame does not decode: at byte 24: found ...; expected ...".
class decode_error : public std::runtime_error {
 public:
  /// What was found at a place, counted in bytes from the start of the frame, and what belongs there.
  decode_error(std::size_t offset, const std::string& found, const std::string& expected);

  /// The place.
  [[nodiscard]] std::size_t offset() const noexcept { return offset_; }

 private:
  std::size_t offset_;
};

}  // namespace weft::serializers
