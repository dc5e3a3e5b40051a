// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// Inputs of the targets that play: steps, each of which begins with a byte of these. The players say what follows it.
namespace weft::fuzz {

/// Of `fuzz_endpoint`.
enum class endpoint_step : std::uint8_t {
  // by its users
  send,
  receive,
  examine,
  cancel,
  resume,
  refuse,
  discard,
  make_ready,
  close,
  lose,
  pump,  ///< a stream goes on
  add_group,
  // from a peer
  announce,
  clear,
  data,
  accepted,
  refused,
  withdraw,
  withdrawn,
  credit,
  ready,
  goodbye,
  // from the sequencer, and by the launch thread
  answer,  ///< to a wish to have a match back
  launch,
  transferred,
  lose_log,
  count,  ///< of these; not a step
};

/// Of `fuzz_log`: an entry from the sequencer, any message, or something that ends on the device.
enum class log_step : std::uint8_t { create, connect, batch, evict, abort, raw, end_set_up, end_batch, count };

/// Of `fuzz_sequencer`: what a rank says, or that it is lost.
enum class sequencer_step : std::uint8_t {
  match,
  withdraw_match,
  finished,
  failed,
  reserve,
  split,
  identity,
  leaving,
  lost,
  raw,
  count,
};

/// Of `fuzz_ring`.
enum class ring_step : std::uint8_t {
  // by this process
  write,
  say,  ///< a message
  read,
  listen,  ///< for messages
  reader_sleeps,
  writer_sleeps,
  wake_reader,
  // by the other one
  set_written,
  set_taken,
  set_flags,
  scribble,
  count,
};

}  // namespace weft::fuzz
