// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/coro/child.hpp>

#include <coroutine>
#include <cstddef>
#include <utility>

namespace weft::coro::detail {

/// Any number of children, in order, chained through their own frames so that the list allocates nothing.
template <class T, latch Latch>
class child_list {
 public:
  child_list() = default;
  child_list(child_list&& other) noexcept
      : first_(std::exchange(other.first_, nullptr)),
        last_(std::exchange(other.last_, nullptr)),
        size_(std::exchange(other.size_, 0)) {}
  child_list& operator=(child_list&&) = delete;
  ~child_list() {
    while (first_) std::exchange(first_, first_.promise().next_).destroy();
  }

  void push_back(child<T, Latch> added) noexcept {
    const frame own = std::exchange(added.frame_, nullptr);
    (first_ ? last_.promise().next_ : first_) = own;
    last_ = own;
    ++size_;
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  void start(Latch& report_to) {
    for (frame at = first_; at; at = at.promise().next_) {
      at.promise().latch_ = &report_to;
      at.resume();
    }
  }

  /// Calls `visit` with the outcome of each child, in order.
  template <class Visitor>
  void for_each_result(Visitor visit) {
    for (frame at = first_; at; at = at.promise().next_) visit(at.promise().result());
  }

 private:
  using frame = typename child<T, Latch>::frame;

  frame first_;
  frame last_;
  std::size_t size_ = 0;
};

}  // namespace weft::coro::detail
