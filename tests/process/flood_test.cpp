// SPDX-License-Identifier: Apache-2.0
// A rank that is sent a million messages and receives none holds their envelopes in 64 bytes each, their payload within
// its credit, and loses nothing.
#include "../support/spawned_program.hpp"

#include <weft/engine/options.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

namespace {

using weft::test::spawned_program;

constexpr std::uint64_t messages = FLOOD_MESSAGES;
// With sanitizers there are fewer messages, and their memory is not measured.
constexpr bool is_measured = messages >= 1'000'000;

constexpr std::uint64_t most_of_an_envelope = 64;
// What does not grow with the number of messages: headers of the blocks that payload lies in, the last chunks, and what
// the allocator keeps for the next request.
constexpr std::uint64_t most_beside = std::uint64_t{2} << 20;

/// What rank 1 says behind `word`, in the next of its lines.
std::uint64_t next_number(spawned_program& job, const std::string& word) {
  const std::string line = job.read_line();
  const std::string mark = "] " + word + " ";
  REQUIRE_MESSAGE(line.find(mark) != std::string::npos, line);
  return std::stoull(line.substr(line.find(mark) + mark.size()));
}

}  // namespace

TEST_CASE("a flood that nobody receives costs 64 bytes a message and the credit, and is received whole and in order") {
  spawned_program job({WEFT_RUN_PATH, "-n", "2", FLOOD_RANK_PATH, std::to_string(messages)});
  const std::uint64_t growth = next_number(job, "growth");
  CHECK(next_number(job, "unmatched") == messages);
  const std::uint64_t payload = weft::engine_options().inline_credit;
  if (is_measured) {
    MESSAGE("bytes beside payload, per message: ", static_cast<double>(growth - payload) / messages);
    CHECK(growth > payload);
    CHECK(growth - payload <= messages * most_of_an_envelope + most_beside);
  }
  CHECK(next_number(job, "received") == messages);
  CHECK(next_number(job, "left") == 0);
  const auto ended = job.finish();
  CAPTURE(ended.errors);
  CHECK(ended.status == 0);
}
