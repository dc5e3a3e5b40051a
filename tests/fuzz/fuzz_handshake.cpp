// SPDX-License-Identifier: Apache-2.0
// Both sides of a handshake, with someone between them who changes what he likes.
#include "fuzz_input.hpp"
#include "fuzz_target.hpp"

#include "link/handshake.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

namespace weft::fuzz {
namespace {

using namespace detail;

/// What `timed_stream` has room for.
constexpr std::size_t largest_message = 128;
constexpr int most_rounds = 16;

enum class meddling : std::uint8_t {
  none,
  change,   ///< a byte
  replace,  ///< all
  cut,      ///< the last byte is never given
  count,
};

/// What was said and not heard.
using wire = std::vector<std::byte>;

struct story {
  bool touched = false;  ///< someone changed something
  std::optional<verdict> decided;
};

/// The next message as it arrives.
wire arriving(wire& said, std::size_t wanted, fuzz_input& input, story& so_far) {
  wire next(said.begin(), said.begin() + static_cast<std::ptrdiff_t>(std::min(wanted, said.size())));
  said.erase(said.begin(), said.begin() + static_cast<std::ptrdiff_t>(next.size()));
  const wire honest = next;
  switch (static_cast<meddling>(input.below(static_cast<unsigned>(meddling::count)))) {
    case meddling::change:
      if (!next.empty()) next[input.byte() % next.size()] ^= static_cast<std::byte>(input.byte());
      break;
    case meddling::replace: {
      next.assign(wanted, std::byte{0});
      std::ranges::copy(input.take(wanted), next.begin());
      break;
    }
    case meddling::cut:
      if (!next.empty()) next.pop_back();
      break;
    default:
      break;
  }
  so_far.touched |= next != honest || next.size() != wanted;
  return next;
}

/// One side hears what it waits for, and answers. False: it waits for nothing more.
template <class Side>
bool advance(Side& side, handshake_step& step, wire& incoming, wire& outgoing, fuzz_input& input, story& so_far) {
  if (step.status != handshake_status::receiving) return false;
  require(step.bytes_wanted > 0 && step.bytes_wanted <= largest_message, "there is room for what is wanted");
  const wire message = arriving(incoming, step.bytes_wanted, input, so_far);
  step = side.received(message);
  require(step.output.size() <= largest_message, "no message is longer than the longest");
  outgoing.insert(outgoing.end(), step.output.begin(), step.output.end());
  require((step.status == handshake_status::failed) == bool(side.code()), "who fails says why");
  return true;
}

hello hello_of(fuzz_input& input) {
  return {.purpose = static_cast<purpose>(input.below(6)),
          .from = input.next<std::int32_t>(),
          .to = input.next<std::int32_t>(),
          .world_size = input.next<std::int32_t>(),
          .incarnation = input.next<std::uint64_t>(),
          .argument = input.next<std::uint64_t>()};
}

void play(fuzz_input& input) {
  const unsigned choices = input.byte();
  const std::string_view key = (choices & 1U) != 0 ? "another key" : "the key of the job";
  const std::uint16_t version = wire_protocol_version + ((choices & 2U) != 0 ? 1U : 0U);
  const hello mine = hello_of(input);
  constexpr handshake_nonce client_nonce{std::byte{1}};
  constexpr handshake_nonce server_nonce{std::byte{2}};
  client_handshake client(key, mine, client_nonce, version);
  server_handshake server("the key of the job", 7, server_nonce);
  story so_far;
  wire to_server;
  wire to_client;
  handshake_step at_client = client.start();
  handshake_step at_server = server.start();
  to_server.assign(at_client.output.begin(), at_client.output.end());
  for (int round = 0; round < most_rounds; ++round) {
    const bool server_moved = advance(server, at_server, to_server, to_client, input, so_far);
    if (at_server.status == handshake_status::authenticated) {
      require(!so_far.touched && choices % 4 == 0, "nobody is authenticated without the key and the version");
      require(server.client() == mine, "the server hears what the client says of itself");
      so_far.decided = static_cast<verdict>(input.below(static_cast<unsigned>(verdict::closing) + 1));
      at_server = server.decide(*so_far.decided);
      to_client.insert(to_client.end(), at_server.output.begin(), at_server.output.end());
    }
    const bool client_moved = advance(client, at_client, to_client, to_server, input, so_far);
    if (!server_moved && !client_moved) break;
  }
  if (at_client.status == handshake_status::done) {
    require(!so_far.touched && so_far.decided == client.answer(), "the verdict is the server's");
    require(client.server_incarnation() == 7, "the incarnation is the server's");
  }
}

}  // namespace
}  // namespace weft::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::fuzz::fuzz_input input(data, size);
  weft::fuzz::play(input);
  return 0;
}
