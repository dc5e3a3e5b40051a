// SPDX-License-Identifier: Apache-2.0
// Registers a class without weft's archives in sight, which is the mistake that serializers_polymorphic_test.cpp
// looks at: no header of weft may be included here.
#include "serializers_test_shapes.hpp"

CEREAL_REGISTER_TYPE(stray)

std::unique_ptr<shape> make_stray() {
  return std::make_unique<stray>();
}
