// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weft/engine/route.hpp>

#include <stdexcept>
#include <string>
#include <vector>

namespace samples {

/// The command line that the samples have in common: [--route ROUTE] [--input FILE].
struct arguments {
  explicit arguments(const std::vector<std::string>& words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (i + 1 == words.size()) throw std::invalid_argument("a value is missing after " + words[i]);
      if (words[i] == "--input")
        input = words[++i];
      else if (words[i] == "--route")
        route = parse(words[++i]);
      else
        throw std::invalid_argument("unknown argument " + words[i] + "; known are --route and --input");
    }
  }

  weft::route route = weft::route::automatic;
  std::string input;

 private:
  static weft::route parse(const std::string& word) {
    if (const auto known = weft::parse_route(word)) return *known;
    throw std::invalid_argument("unknown route " + word + "; routes are automatic, inline, host, device and pair");
  }
};

}  // namespace samples
