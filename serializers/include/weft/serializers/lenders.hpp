// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <functional>

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
    const bool lasts = lasting(object);
    if (depth_ < path_.size()) path_[depth_] = {static_cast<const std::byte*>(object), bytes, how, lasts};
    ++depth_;
  }
  /// What an owning pointer points to.
  void enter_owned() noexcept {
    const bool lasts = depth_ == 0 || (depth_ <= path_.size() && path_[depth_ - 1].lasts);
    if (depth_ < path_.size()) path_[depth_] = {nullptr, 0, lending::others, lasts};
    ++depth_;
  }
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
    const std::byte* begin;
    std::size_t bytes;
    lending how;
    bool lasts;
  };

  [[nodiscard]] bool lasting(const void* data) const noexcept {
    if (depth_ == 0) return true;
    if (depth_ > path_.size()) return false;
    const step& within = path_[depth_ - 1];
    if (!within.lasts || within.how == lending::others) return within.lasts;
    const auto* at = static_cast<const std::byte*>(data);
    const std::less<> before;  // orders all pointers, also those into different objects
    return !before(at, within.begin) && before(at, within.begin + within.bytes);
  }

  // Deeper objects are copied. No heap: small messages are to cost no allocation.
  std::array<step, 24> path_;
  std::size_t depth_ = 0;
  std::size_t keys_ = 0;
};

}  // namespace weft::serializers
