// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "replay.hpp"

namespace weft::simulation {

/// Leaves out of a failing run whatever a problem of the same kind shows without: features, ranks, messages, until
/// nothing more can go. As whatever is left out changes all delays that follow, some are tried for each.
[[nodiscard]] run_request shrink(const run_request& failing);

}  // namespace weft::simulation
