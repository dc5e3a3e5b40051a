// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iostream>
#include <string_view>

namespace samples {

/// Whether the command line asks for help, which is printed then. Before a rank joins: it needs no others.
inline bool gave_help(int argc, char** argv, std::string_view text) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word != "--help" && word != "-h") continue;
    std::cout << text;
    return true;
  }
  return false;
}

}  // namespace samples
