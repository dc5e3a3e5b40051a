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
  const std::string all =
      "pingpong, rate, bandwidth, objects, loop-stall, kv, idle, pending, startup, any-source, alltoall, batch";
  CHECK(complaint({}) == "a scenario is missing: give one of " + all);
  CHECK(complaint({"ping"}) == "unknown scenario 'ping'; scenarios are " + all);
}

TEST_CASE("ranks that exchange in pairs are even in number, and others any number from two on") {
  for (const char* scenario : {"pingpong", "loop-stall", "kv", "pending", "batch"}) {
    CAPTURE(scenario);
    CHECK(complaint({scenario, "--ranks", "8"}).empty());
    CHECK(complaint({"--ranks", "3", scenario}) == "the number of ranks of " + std::string(scenario) +
                                                       " is an even one from 2 to 64, because ranks are measured in "
                                                       "pairs, not 3");
  }
  for (const char* scenario : {"idle", "startup", "any-source", "alltoall"}) {
    CAPTURE(scenario);
    CHECK(complaint({scenario, "--ranks", "63"}).empty());
    CHECK(complaint({scenario, "--ranks", "1"}) ==
          "the number of ranks of " + std::string(scenario) + " is one from 2 to 64, not 1");
    CHECK(complaint({scenario, "--ranks", "65"}) ==
          "the number of ranks of " + std::string(scenario) + " is one from 2 to 64, not 65");
  }
  CHECK(complaint({"idle", "--ranks", "few"}) == "--ranks takes a number from 2 to 64, as in 4, not 'few'");
}

TEST_CASE("messages in flight are counted where a scenario has several, and fit into memory") {
  CHECK(std::get<options>(parse_arguments({"kv"})).in_flight == 18'880);
  CHECK(std::get<options>(parse_arguments({"batch", "--in-flight", "7"})).in_flight == 7);
  CHECK(complaint({"idle", "--in-flight", "7"}) ==
        "--in-flight is for scenarios with several messages in flight; idle has one at a time");
  for (const char* given : {"0", "100001", "-1", "7K", ""}) {
    CAPTURE(given);
    CHECK(complaint({"batch", "--in-flight", given}) ==
          "--in-flight takes a number from 1 to 100000, as in 64, not '" + std::string(given) + "'");
  }
  CHECK(complaint({"kv", "--in-flight", "5", "--size", "1G"}) ==
        "kv keeps 5 messages in flight: 1073741824 bytes each is more than 4G together; give a smaller --size");
  CHECK(complaint({"alltoall", "--ranks", "6", "--size", "1G"}) ==
        "alltoall keeps 5 messages in flight: 1073741824 bytes each is more than 4G together; give a smaller --size");
  CHECK(complaint({"alltoall", "--ranks", "5", "--size", "1G"}).empty());
}

TEST_CASE("a comparison takes what it does not fix itself") {
  CHECK(complaint({"objects", "--compare", "--ranks", "2", "--transport", "tcp"}).empty());
  CHECK(complaint({"rate", "--compare"}) == "--compare is for the scenario objects, not for rate");
  CHECK(complaint({"objects", "--compare", "--ranks", "4"}) == "--compare is for two ranks, not 4");
  CHECK(complaint({"objects", "--size", "64", "--compare"}) ==
        "--compare prints a table of fixed sizes: leave out --size");
  for (const char* option : {"--json", "--route", "--seconds", "--in-flight"}) {
    CAPTURE(option);
    std::vector<std::string_view> given{"objects", "--compare", option};
    if (given.back() != "--json") given.emplace_back(given.back() == "--route" ? "inline" : "1");
    const std::string told = complaint(given);
    CHECK(told.find(option) != std::string::npos);
  }
}

TEST_CASE("what is counted is named with how often, or not at all") {
  CHECK_FALSE(std::get<smoke_request>(parse_arguments({"--smoke"})).only);
  const auto one = std::get<smoke_request>(parse_arguments({"--smoke", "buffers", "7"}));
  REQUIRE(one.only);
  CHECK(one.only->name == "buffers");
  CHECK(one.only->exchanges == 7);
  const std::string expected =
      "--smoke takes nothing, or a case and how many exchanges of it to run, as in --smoke buffers 1000, not";
  CHECK(complaint({"--smoke", "buffers"}) == expected + " buffers");
  CHECK(complaint({"--smoke", "buffers", "0"}) == expected + " buffers 0");
  CHECK(complaint({"--smoke", "buffers", "7K"}) == expected + " buffers 7K");
  CHECK(complaint({"rate", "--smoke"}) == "--smoke comes first, and instead of a scenario");
}

}  // namespace
