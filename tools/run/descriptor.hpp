// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <utility>

namespace weft::run {

/// Owns an open file descriptor.
class descriptor {
 public:
  descriptor() = default;
  explicit descriptor(int number) noexcept : number_(number) {}
  descriptor(descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  descriptor& operator=(descriptor&& other) noexcept {
    descriptor old(std::move(*this));
    number_ = std::exchange(other.number_, -1);
    return *this;
  }
  ~descriptor() {
    if (is_open()) ::close(number_);
  }

  [[nodiscard]] bool is_open() const noexcept { return number_ >= 0; }
  [[nodiscard]] int get() const noexcept { return number_; }
  void close() noexcept { *this = descriptor(); }

 private:
  int number_ = -1;
};

}  // namespace weft::run
