// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/serializers/detail/lies_in.hpp>

#include <array>
#include <cstddef>

namespace weft::serializers {

/// The way from the objects that were given to the one that is being saved. Memory of an object may be sent from where
/// it lies only if it lives as long as the objects that were given: as their member, as an element of a container, or
/// at the end of an owning pointer. What a `save` function made for the occasion does not, and is told by its address,
/// which is in none of them.
class lenders {
 public:
  /// What lives as long as an object that is saved.
  enum class lending {
    members,  ///< what lies within it
    others,   ///< what is saved next, wherever it lies: elements of a container, what a pointer owns
  };

  /// An object is about to be saved, or has been.
  /// @{
  void enter(const void* object, std::size_t bytes, lending how) noexcept {
    push({object, bytes, how, lasting(object)});
  }
  /// What an owning pointer points to.
  void enter_owned() noexcept { push({nullptr, 0, lending::others, innermost_lasts()}); }
  void leave() noexcept { --depth_; }
  /// @}

  /// What decides about a place in a container is about to be saved, or has been: it does not travel apart.
  /// @{
  void enter_key() noexcept { ++keys_; }
  void leave_key() noexcept { --keys_; }
  /// @}

  /// Whether what is saved next, and lies there, lasts and is no part of a key.
  [[nodiscard]] bool lends(const void* data) const noexcept { return keys_ == 0 && lasting(data); }

 private:
  struct step {
    const void* begin;
    std::size_t bytes;
    lending how;
    bool lasts;
  };

  void push(const step& next) noexcept {
    if (depth_ < path_.size()) path_[depth_] = next;
    ++depth_;
  }
  [[nodiscard]] bool innermost_lasts() const noexcept {
    return depth_ == 0 || (depth_ <= path_.size() && path_[depth_ - 1].lasts);
  }

  [[nodiscard]] bool lasting(const void* data) const noexcept {
    if (!innermost_lasts()) return false;
    if (depth_ == 0) return true;
    const step& within = path_[depth_ - 1];
    return within.how == lending::others || detail::lies_in(within.begin, within.bytes, data);
  }

  // Deeper objects are copied. No heap: small messages are to cost no allocation.
  std::array<step, 24> path_;
  std::size_t depth_ = 0;
  std::size_t keys_ = 0;
};

}  // namespace weft::serializers
