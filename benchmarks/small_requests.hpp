// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace weft::bench {

/// What it takes to serialize and deserialize a small request (three ints, a string of 32 characters, 16 doubles): by
/// weft's archives, by cereal's binary ones over a fixed buffer, and by a hand-written encoder. A table.
[[nodiscard]] std::string small_request_table();

}  // namespace weft::bench
