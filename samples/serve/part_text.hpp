// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages.hpp"

#include <string>

namespace serve {

/// The head of an answer that comes in chunks.
[[nodiscard]] std::string answer_header(bool keep_alive);

/// A part as one line of JSON, in one chunk. The last one is followed by the end of the answer.
[[nodiscard]] std::string chunk_of(const part& next);

}  // namespace serve
