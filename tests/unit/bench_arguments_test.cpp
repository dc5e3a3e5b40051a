// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace {

using namespace weft::bench;

std::string complaint(const std::vector<std::string_view>& given) {
  try {
    (void)parse_arguments(given);
  } catch (const usage_error& problem) {
    return problem.what();
  }
  return {};
}

TEST_CASE("a time too short to measure in, or none, is named with the range") {
  for (const char* given : {"0", "-1", "nan", "inf", "1e-9", "0.0099", "600.1", "1s", ""}) {
    CAPTURE(given);
    CHECK(complaint({"pingpong", "--seconds", given}) ==
          "--seconds takes a number from 0.01 to 600, as in 0.5, not '" + std::string(given) + "'");
  }
  CHECK(std::get<options>(parse_arguments({"rate", "--seconds", "0.01"})).seconds == 0.01);
}

TEST_CASE("a scenario is enough, and what is unknown is named with what is known") {
  CHECK(std::get<options>(parse_arguments({"bandwidth"})).size == 1 << 20);
  CHECK(complaint({}) == "a scenario is missing: give one of pingpong, rate, bandwidth, objects");
  CHECK(complaint({"ping"}) == "unknown scenario 'ping'; scenarios are pingpong, rate, bandwidth, objects");
}

}  // namespace
