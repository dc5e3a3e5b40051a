// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "program_memory.hpp"

#include <weft/engine/communicator.hpp>
#include <weft/engine/options.hpp>

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <functional>
#include <string>

/// Programs made by chance, one after the other and several at once, judged by rank 0.
namespace weft::testing {

/// Programs with consecutive seeds.
struct program_series {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  /// What to do to run the program of one seed again.
  std::function<std::string(std::uint32_t seed)> again;
};

/// What the programs of a series have come to, as rank 0 knows it.
struct program_tally {
  std::uint64_t programs = 0;
  std::uint64_t operations = 0;
  std::uint64_t ended_early = 0;
  std::uint64_t contradictions = 0;
  std::uint64_t left = 0;  ///< messages, at any rank

  [[nodiscard]] bool is_clean() const noexcept { return contradictions == 0 && left == 0; }
};
/// In one line.
[[nodiscard]] std::string describe(const program_tally& count);

/// The limits of the programs become the engine's, and an inline send that fails late ends the process.
void scale(engine_options& options);

/// Runs this rank's part. What contradicts a program is printed by rank 0, together with how to run it again; a program
/// that does not end is named with what it waits for, and ends the process.
boost::asio::awaitable<program_tally> run_programs(communicator all, program_series which, program_memory& memory);

}  // namespace weft::testing
