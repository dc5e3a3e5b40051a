// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>

/// What libFuzzer calls, by this name, with each input (https://llvm.org/docs/LibFuzzer.html). Without libFuzzer
/// `replay.cpp` calls it with files.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace weft::fuzz {

/// What must hold whatever the input. A violation ends the program, and so its input is kept.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "violation: %s\n", what);
  std::abort();
}

}  // namespace weft::fuzz
