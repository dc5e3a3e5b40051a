// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda_model/world.hpp"

namespace weft::testing {

/// The model that the ranks of the test under way run on.
[[nodiscard]] cuda_model::world& running_world();

}  // namespace weft::testing
