// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/serializers/reader.hpp>

#include <cstdint>
#include <memory>
#include <typeinfo>
#include <utility>
#include <vector>

namespace weft::serializers {

/// Checks what cereal takes on trust when it loads pointers: that a shared object is referred to by its own type, that
/// it is complete, and that a polymorphic object is of the class that the pointer needs. A frame that lies about one
/// of these would otherwise be read as an object of another type, or leak.
class pointer_guard {
 public:
  /// Errors name the place that `in`, which must outlive the guard, has reached.
  explicit pointer_guard(const reader& in) noexcept : in_(in) {}

  /// A shared_ptr to `type` begins and ends; in between cereal calls `add` or `find`.
  /// @{
  void begin_shared(const std::type_info& type) {
    pointers_.push_back({&type, std::exchange(weak_, false), no_object});
  }
  void end_shared() noexcept;
  /// @}

  /// The next shared_ptr belongs to a weak_ptr, which may point to an object that is not complete yet (its parent).
  void set_weak(bool weak) noexcept { weak_ = weak; }

  /// A new shared object; `constructed` tells whether its constructor has run. Numbers count from one.
  void add(std::uint32_t number, std::shared_ptr<void> object, const std::type_info& type, bool constructed);
  /// The object of that number; none for zero.
  [[nodiscard]] std::shared_ptr<void> find(std::uint32_t number) const;

  /// The next unique_ptr is to be cast to `base`; null: to nothing.
  void set_base(const std::type_info* base) noexcept { base_ = base; }
  /// A unique_ptr to `type` begins.
  void begin_unique(const std::type_info& type);

 private:
  static constexpr std::size_t no_object = SIZE_MAX;

  struct shared_object {
    std::shared_ptr<void> object;
    const std::type_info* type;
    bool constructed;
    bool complete;
  };
  struct shared_pointer {
    const std::type_info* type;
    bool weak;
    std::size_t added;  // the object that this pointer brought along
  };

  const reader& in_;
  std::vector<shared_object> objects_;
  std::vector<shared_pointer> pointers_;  // those being loaded, the innermost last
  const std::type_info* base_ = nullptr;
  bool weak_ = false;
};

}  // namespace weft::serializers
