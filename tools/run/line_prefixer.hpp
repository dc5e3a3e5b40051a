// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft::run {

/// A longer line is printed in pieces of this size, so that a rank that never ends a line cannot fill the memory.
inline constexpr std::size_t max_line_bytes = std::size_t{16} << 10;

/// Cuts the output of one stream of one rank into whole lines, each behind a prefix.
class line_prefixer {
 public:
  explicit line_prefixer(std::string prefix, std::size_t max_line = max_line_bytes);

  /// The lines that `bytes` complete, ready to print.
  [[nodiscard]] std::string feed(std::string_view bytes);

  /// The unterminated last line, with an end of line; empty if there is none.
  [[nodiscard]] std::string finish();

 private:
  void end_line(std::string& lines);

  std::string prefix_;
  std::size_t max_line_;
  std::string partial_;
};

}  // namespace weft::run
