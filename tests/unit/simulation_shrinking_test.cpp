// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"
#include "shrinking.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <random>
#include <stdexcept>
#include <string>

namespace {

using namespace weft::simulation;
using weft::protocol::active_mutation;
using weft::protocol::mutation;

/// A deliberate fault, for as long as it exists.
class fault {
 public:
  explicit fault(mutation which) { active_mutation = which; }
  fault(const fault&) = delete;
  fault& operator=(const fault&) = delete;
  ~fault() { active_mutation = mutation::none; }
};

run_request request_for(std::uint32_t seed) {
  return {setting_for(seed, {}), {}};
}

run_request first_failing() {
  std::uint32_t seed = 1;
  while (!run_once(request_for(seed)).problem) ++seed;
  return request_for(seed);
}

std::size_t operations_of(const run_request& request) {
  return run_once(request).operations;
}

TEST_CASE("a failing run shrinks to a few messages that show the same kind of problem, and all are needed") {
  for (const auto& [name, which] : mutants) {
    CAPTURE(name);
    const fault active(which);
    const run_request failing = first_failing();
    const run_request small = shrink(failing);
    CAPTURE(failing.how.seed);
    CHECK(kind_of(run_once(small)) == kind_of(run_once(failing)));
    CHECK(operations_of(small) <= 40);
    const auto whole = static_cast<int>(operations_of(failing) / 2);
    for (int message = 0; message < whole; ++message) {
      run_request smaller = small;
      if (smaller.without.messages.insert(message).second)
        CHECK(kind_of(run_once(smaller)) != kind_of(run_once(failing)));
    }
  }
}

TEST_CASE("whatever is left out of a program, what is left is a right one") {
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    std::mt19937 random(seed);
    run_request request = request_for(seed);
    const auto messages = static_cast<int>(operations_of(request) / 2);
    for (const auto& [name, one] : features)
      if (random() % 2 == 0) request.without.features.insert(one);
    for (int message = 0; message < messages; ++message)
      if (random() % 2 == 0) request.without.messages.insert(message);
    CAPTURE(seed);
    CHECK(run_once(request).problem.value_or("") == "");
  }
}

TEST_CASE("a program with nothing left in it is over at once") {
  run_request request = request_for(1);
  for (int message = 0; message < static_cast<int>(operations_of(request_for(1)) / 2); ++message)
    request.without.messages.insert(message);
  CHECK(run_once(request).problem.value_or("") == "");
  request.without.features = {feature::idle_ranks};
  CHECK(run_once(request).problem.value_or("") == "");
}

TEST_CASE("a message that the program does not have cannot be left out") {
  run_request request = request_for(1);
  const std::string last = std::to_string(operations_of(request) / 2 - 1);
  request.without.messages = {99'999};
  CHECK_THROWS_WITH_AS(
      (void)run_once(request),
      ("the program of seed 1 has the messages 0 to " + last + ", and no message 99999 to leave out").c_str(),
      std::invalid_argument);
}

}  // namespace
