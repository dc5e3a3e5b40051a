// SPDX-License-Identifier: Apache-2.0
#include <weft/serializers/pointer_guard.hpp>

#include <cereal/details/util.hpp>
#include <cereal/types/polymorphic.hpp>

namespace weft::serializers {

namespace {
std::string name(const std::type_info& type) {
  return cereal::util::demangle(type.name());
}
}  // namespace

void pointer_guard::end_shared() noexcept {
  const std::size_t added = pointers_.back().added;
  if (added != no_object) objects_[added].complete = true;
  pointers_.pop_back();
}

void pointer_guard::add(std::uint32_t number, std::shared_ptr<void> object, const std::type_info& type,
                        bool constructed) {
  if (number != objects_.size() + 1) {
    in_.fail("a new shared object of number " + std::to_string(number),
             "number " + std::to_string(objects_.size() + 1));
  }
  pointers_.back().added = objects_.size();
  objects_.push_back({std::move(object), &type, constructed, false});
}

std::shared_ptr<void> pointer_guard::find(std::uint32_t number) const {
  if (number == 0) return nullptr;
  if (number > objects_.size()) {
    in_.fail("a shared_ptr to object " + std::to_string(number),
             "one of the " + std::to_string(objects_.size()) + " shared objects so far");
  }
  const shared_object& known = objects_[number - 1];
  const shared_pointer& pointer = pointers_.back();
  if (*known.type != *pointer.type) {
    in_.fail("a shared_ptr to object " + std::to_string(number) + ", which is of type " + name(*known.type),
             "an object of type " + name(*pointer.type));
  }
  if (!known.complete && !(pointer.weak && known.constructed)) {
    in_.fail("a shared_ptr from within object " + std::to_string(number) + " to itself, which would never be freed",
             "a weak_ptr for the way back");
  }
  return known.object;
}

void pointer_guard::begin_unique(const std::type_info& type) {
  const std::type_info* const base = std::exchange(base_, nullptr);
  if (base == nullptr || *base == type) return;
  if (!cereal::detail::PolymorphicCasters::lookup_if_exists(*base, type).first) {
    in_.fail("an object of type " + name(type), "a class derived from " + name(*base) +
                                                    ", its base serialized by cereal::base_class or named in "
                                                    "CEREAL_REGISTER_POLYMORPHIC_RELATION");
  }
}

}  // namespace weft::serializers
