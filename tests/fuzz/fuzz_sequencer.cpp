// SPDX-License-Identifier: Apache-2.0
// A sequencer whose ranks say what they like. What it tells each of them must be a log that can be followed.
#include "fuzz_input.hpp"
#include "fuzz_target.hpp"
#include "scripts.hpp"

#include "executor/sequencer_desk.hpp"
#include "protocol/messages.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <variant>
#include <vector>

namespace weft::fuzz {
namespace {

using namespace detail;

constexpr int ranks = 4;
constexpr std::size_t most_steps = 300;
// Small, so that short inputs reach them.
constexpr protocol::sequencer_limits small_limits{.pair_budget = 1, .eviction_patience = 2};

/// What was said to one rank.
struct listener {
  std::uint64_t last = 0;                    ///< entry
  std::vector<std::uint64_t> unfinished;     ///< entries that it reports the end of
  std::vector<std::uint32_t> communicators;  ///< that it was told to create
  std::size_t wishes = 0;                    ///< for pairs, that were not answered
};

class play final : public desk_mail {
 public:
  void run(fuzz_input& input) {
    for (std::size_t i = 0; i < most_steps && !input.empty(); ++i) {
      const auto what = static_cast<sequencer_step>(input.below(static_cast<unsigned>(sequencer_step::count)));
      perform(what, static_cast<int>(input.below(ranks)), input);
    }
    for (int rank = 0; rank < ranks; ++rank) desk_.rank_lost(rank);
    require(desk_.is_deserted(), "all are gone");
  }

 private:
  listener& at(int rank) { return listeners_[static_cast<std::size_t>(rank)]; }

  void send_to_log(int rank, log_message type, std::span<const std::byte> body) override {
    if (type == log_message::identity) return check_identity(rank, body);
    require(!desk_.is_gone(rank), "who is gone is told nothing but names");
    if (type == log_message::rank_gone || type == log_message::log_end) return;
    const auto entry = decode(type, body);
    require(entry && concerns(*entry, rank, ranks), "an entry is for a rank that it concerns");
    listener& to = at(rank);
    require(entry->number > to.last, "each rank gets its entries in their order");
    to.last = entry->number;
    if (std::holds_alternative<protocol::batch>(entry->content) ||
        std::holds_alternative<protocol::evict>(entry->content))
      to.unfinished.push_back(entry->number);
    if (std::holds_alternative<protocol::create>(entry->content)) to.communicators.push_back(entry->communicator);
  }

  // Also to who is gone: it may have left, and stays for what it is to help create.
  void check_identity(int rank, std::span<const std::byte> body) {
    const auto shown = protocol::parse<unique_id_body>(body);
    const auto& told = at(rank).communicators;
    require(shown && std::find(told.begin(), told.end(), shown->communicator) != told.end(),
            "a name is of a communicator that the rank is to create");
  }

  void send_to_engine(int rank, log_message type, std::span<const std::byte> body) override {
    if (type == log_message::split_done) {
      const auto answer = decode_split_done(body);
      require(answer && concerns(*answer, rank, ranks), "an answer is for a rank that it concerns");
    }
    if (type != log_message::reserved) return;
    require(at(rank).wishes != 0, "each wish is answered once");
    --at(rank).wishes;
  }

  void perform(sequencer_step what, int from, fuzz_input& input) {
    switch (what) {
      case sequencer_step::match:
        return say(from, log_message::match, match(from, input));
      case sequencer_step::withdraw_match:
        return say(from, log_message::withdraw_match, match(from, input));
      case sequencer_step::finished:
        return say(from, log_message::finished, finished_body{choose(at(from).unfinished, input)});
      case sequencer_step::failed:
        return say(from, log_message::failed, communicator_body{0, choose(at(from).communicators, input), 0});
      case sequencer_step::reserve:
        if (!desk_.is_gone(from)) ++at(from).wishes;
        return say(from, log_message::reserve, reserve_body{static_cast<int>(input.below(ranks + 1)), 0});
      case sequencer_step::split:
        return say(from, log_message::split,
                   split_body{input.below(3), static_cast<int>(input.below(3)) - 1, static_cast<int>(input.below(3))});
      case sequencer_step::identity:
        return say(from, log_message::identity, unique_id_body{choose(at(from).communicators, input), 0, {}});
      case sequencer_step::leaving:
        return say(from, log_message::leaving, leaving_body{});
      case sequencer_step::lost:
        return desk_.rank_lost(from);
      default:
        break;
    }
    const auto type = static_cast<log_message>(static_cast<unsigned>(log_message::match) + input.below(24));
    if (type == log_message::reserve) return;  // its answers are counted
    (void)desk_.on_message(from, type, input.take(input.byte()));
  }

  template <class Body>
  void say(int from, log_message type, const Body& body) {
    (void)desk_.on_message(from, type, std::as_bytes(std::span(&body, 1)));
  }

  static match_body match(int from, fuzz_input& input) {
    const unsigned choices = input.byte();
    return {.through_pair = static_cast<std::uint8_t>(choices & 1U),
            .reserved = {},
            .source = static_cast<int>((choices >> 1U) % ranks),
            .destination = (choices & 0xf0U) == 0xf0U ? static_cast<int>(input.below(ranks)) : from,
            .reserved_too = 0,
            .send = input.below(4),
            .receive = input.below(4),
            .bytes = input.byte(),
            .group = (choices & 8U) != 0 ? 1 + input.below(3) : 0};
  }

  /// One of those, or of those that do not exist.
  template <class Number>
  static Number choose(const std::vector<Number>& from, fuzz_input& input) {
    const unsigned choice = input.byte();
    if (choice >= 240 || from.empty()) return choice;
    return from[from.size() - 1 - choice % from.size()];
  }

  std::array<listener, ranks> listeners_;
  sequencer_desk desk_{ranks, small_limits, *this};
};

}  // namespace
}  // namespace weft::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::fuzz::fuzz_input input(data, size);
  weft::fuzz::play().run(input);
  return 0;
}
