// SPDX-License-Identifier: Apache-2.0
// An endpoint whose peers say whatever they like. What a simulated rank checks by doctest ends the program here.
#define DOCTEST_CONFIG_IMPLEMENT
#include "endpoint_play.hpp"
#include "fuzz_target.hpp"

#include <cstdio>
#include <cstdlib>

namespace {

[[noreturn]] void end_program(const doctest::AssertData& failed) {
  std::fprintf(stderr, "violation: %s:%d: %s\n", failed.m_file, failed.m_line, failed.m_expr);
  std::abort();
}

/// Checks outside of a test are this one's.
void take_checks() {
  static const bool done = [] {
    static doctest::Context context;
    context.setAsDefaultForAssertsOutOfTestCases();
    context.setAssertHandler([](const doctest::AssertData& checked) {
      if (checked.m_failed) end_program(checked);
    });
    return true;
  }();
  (void)done;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  take_checks();
  weft::fuzz::fuzz_input input(data, size);
  weft::fuzz::endpoint_play play;
  play.run(input);
  return 0;
}
