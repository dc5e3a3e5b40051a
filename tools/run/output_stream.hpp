// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "descriptor.hpp"
#include "line_prefixer.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace weft::run {

/// Writes to standard output or standard error, until that fails once.
class printer {
 public:
  explicit printer(int target) noexcept : target_(target) {}

  /// All of the text, waiting for a slow reader: its ranks then wait too, in their own writes.
  void print(std::string_view text) noexcept;

  /// The errno of the write that failed, or zero. What is printed after it is discarded.
  [[nodiscard]] int failure() const noexcept { return failure_; }

 private:
  int target_;
  int failure_ = 0;
};

/// One of the two streams of a rank, printed line by line.
class output_stream {
 public:
  output_stream(descriptor source, std::string prefix, printer& target)
      : source_(std::move(source)), lines_(std::move(prefix)), target_(&target) {}

  [[nodiscard]] bool is_open() const noexcept { return source_.is_open(); }
  [[nodiscard]] int descriptor_number() const noexcept { return source_.get(); }

  /// Prints a bounded part of what is there, so that no rank keeps the others waiting. At its end it closes.
  void forward_some();

  /// Prints what is there now.
  void forward_available();

  /// Closes, and prints what was left of a last line.
  void finish();

 private:
  std::size_t read_some();

  descriptor source_;
  line_prefixer lines_;
  printer* target_;
};

}  // namespace weft::run
