// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"

#include <doctest/doctest.h>

#include <initializer_list>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace weft::simulation;

arguments parsed(std::initializer_list<const char*> words) {
  return parse_arguments({words.begin(), words.size()});
}

std::string complaint(std::initializer_list<const char*> words) {
  try {
    (void)parsed(words);
  } catch (const std::invalid_argument& problem) {
    return problem.what();
  }
  return {};
}

TEST_CASE("a range of seeds that holds none is refused, with what a range is") {
  CHECK(complaint({"--seeds", "10..10"}) ==
        "--seeds A..B means A to B-1, so B has to be greater than A, not \"10..10\"");
  CHECK(complaint({"--seeds", "10..9"}) == "--seeds A..B means A to B-1, so B has to be greater than A, not \"10..9\"");
  CHECK(complaint({"--seeds", "10"}) == "--seeds takes FIRST..END, as in 17..18 for seed 17 alone, not \"10\"");
  const arguments one = parsed({"--seeds", "10..11"});
  CHECK(one.first_seed == 10);
  CHECK(one.end_of_seeds == 11);
}

TEST_CASE("more messages than a run gets done are refused with the limit") {
  for (const char* given : {"0", "10001", "99999999999", "many"}) {
    CAPTURE(given);
    CHECK(complaint({"--messages", given}) ==
          "--messages takes a number from 1 to 10000, not \"" + std::string(given) + '"');
  }
  CHECK(parsed({"--messages", "10000"}).messages == 10'000);
}

TEST_CASE("an option that is unknown, lacks its value or is given twice is named, with what is wrong") {
  CHECK(complaint({"--seed", "1..2"}) == "there is no option \"--seed\"; see --help");
  CHECK(complaint({"1..2"}) == "there is no option \"1..2\"; see --help");
  CHECK(complaint({"--ranks"}) == "--ranks lacks its value");
  CHECK(complaint({"--ranks", "3", "--trace", "--ranks", "4"}) ==
        "--ranks is given twice, the second time as \"4\": give it once");
  CHECK(parsed({"--without", "3", "--without", "7"}).without.messages == std::set{3, 7});
}

TEST_CASE("what to do with mutants is asked once") {
  const std::string expected = "--mutant, --check-mutants and --list-mutants exclude each other: give one of them";
  CHECK(complaint({"--mutant", "no-gate", "--check-mutants"}) == expected);
  CHECK(complaint({"--check-mutants", "--list-mutants"}) == expected);
  CHECK(complaint({"--mutant", "no-gate"}).empty());
}

TEST_CASE("messages and features that are left out are printed as they are given") {
  const omissions without = parsed({"--without", "7,waits,3-5,8,cancels"}).without;
  CHECK(without.messages == std::set{3, 4, 5, 7, 8});
  CHECK(without.features == std::set{feature::cancels, feature::waits});
  CHECK(list_of(without) == "cancels,waits,3-5,7-8");
}

TEST_CASE("what cannot be left out is named") {
  for (const char* given : {"", "3,", "noise", "-1"}) {
    CAPTURE(given);
    CHECK(
        complaint({"--without", given}).starts_with("--without takes messages, as 3 or 5-17, and features, cancels,"));
  }
  CHECK(complaint({"--without", "9-7"}) == "--without takes a range upwards, not \"9-7\"");
  CHECK(complaint({"--without", "7-x"}).starts_with("--without takes a number from 0 to "));
}

}  // namespace
