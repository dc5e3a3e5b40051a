// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/circular_buffer.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace weft::detail {

/// A queue that takes memory only to hold more than ever before. (A deque takes and gives back blocks as it goes
/// along.)
template <class T>
class growing_ring {
 public:
  void push_back(T next) {
    if (items_.full()) items_.set_capacity(std::max<std::size_t>(16, 2 * items_.capacity()));
    items_.push_back(std::move(next));
  }
  void pop_front() { items_.pop_front(); }
  [[nodiscard]] T& front() { return items_.front(); }
  [[nodiscard]] bool empty() const noexcept { return items_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return items_.size(); }
  void clear() noexcept { items_.clear(); }

  template <class Predicate>
  void erase_if(Predicate unwanted) {
    items_.erase(std::remove_if(items_.begin(), items_.end(), unwanted), items_.end());
  }

 private:
  boost::circular_buffer<T> items_;
};

}  // namespace weft::detail
