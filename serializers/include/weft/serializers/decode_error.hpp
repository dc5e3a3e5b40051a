// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
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

/// A frame asks for more than `limits` allow. `what()` names the limit, its value and what was asked for.
class limit_exceeded : public decode_error {
 public:
  /// `found` of `what` at a place, where the member `limit` of `limits` allows `allowed`.
  limit_exceeded(std::size_t offset, const std::string& limit, std::uint64_t found, std::uint64_t allowed,
                 const std::string& what);
};

}  // namespace weft::serializers
