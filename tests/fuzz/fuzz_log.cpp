// SPDX-License-Identifier: Apache-2.0
// The log as a launch thread reads it, from a sequencer that writes what it likes; the device is honest.
#include "fuzz_input.hpp"
#include "fuzz_target.hpp"
#include "scripts.hpp"

#include "executor/log_messages.hpp"
#include "protocol/log_follower.hpp"
#include "protocol/messages.hpp"

#include <set>
#include <utility>
#include <variant>
#include <vector>

namespace weft::fuzz {
namespace {

using detail::log_message;
using protocol::communicator_id;
using protocol::log_entry;

constexpr int ranks = 4;
constexpr int self = 1;
constexpr std::size_t most_steps = 300;

class play {
 public:
  void run(fuzz_input& input) {
    for (std::size_t i = 0; i < most_steps && !input.empty(); ++i) {
      if (!perform(static_cast<log_step>(input.below(static_cast<unsigned>(log_step::count))), input)) break;
      advance();
    }
    finish();
  }

 private:
  /// False: the link is closed.
  bool perform(log_step what, fuzz_input& input) {
    switch (what) {
      case log_step::end_set_up:
        if (follower_.is_setting_up()) (void)follower_.set_up_ended(input.flag() ? errc::set_up_failed : errc{});
        return true;
      case log_step::end_batch:
        if (!launched_.empty()) end_batch(input.byte() % launched_.size());
        return true;
      case log_step::raw: {
        const auto type = static_cast<log_message>(static_cast<unsigned>(log_message::match) + input.below(24));
        return on_message(type, input.take(input.byte()));
      }
      default:
        return on_encoded(what, input);
    }
  }

  bool on_encoded(log_step what, fuzz_input& input) {
    log_entry entry{last_ + input.below(3), input.below(7), {}};
    last_ = std::max(last_, entry.number);
    entry.content = content_of(what, input);
    std::vector<std::byte> body;
    const log_message type = detail::encode(entry, body);
    if (input.below(8) == 7) body[input.byte() % body.size()] = static_cast<std::byte>(input.byte());
    return on_message(type, body);
  }

  static decltype(log_entry::content) content_of(log_step what, fuzz_input& input) {
    const auto rank = [&] { return static_cast<int>(input.below(ranks)); };
    if (what == log_step::evict) return protocol::evict{};
    if (what == log_step::abort) return protocol::abort{};
    if (what == log_step::connect) return protocol::connect{rank(), rank()};
    if (what == log_step::create) {
      protocol::create made{.kind = static_cast<protocol::communicator_kind>(input.below(2)), .members = {}};
      for (unsigned left = 1 + input.below(3); left != 0; --left) made.members.push_back(rank());
      return made;
    }
    protocol::batch made;
    for (unsigned left = input.below(4); left != 0; --left)
      made.transfers.push_back({rank(), rank(), input.byte(), input.byte(), input.byte()});
    return made;
  }

  // As a launch thread does.
  bool on_message(log_message type, std::span<const std::byte> body) {
    (void)detail::decode_split_done(body);
    if (type == log_message::rank_gone) {
      const auto gone = protocol::parse<detail::rank_gone_body>(body);
      if (gone) follower_.rank_gone(gone->rank, gone->left == 1 ? errc::peer_left : errc::peer_lost);
      return gone.has_value();
    }
    if (type == log_message::identity) {
      const auto shown = protocol::parse<detail::unique_id_body>(body);
      if (shown) follower_.identity_arrived(shown->communicator);
      return shown.has_value();
    }
    const auto entry = detail::decode(type, body);
    if (!entry || !detail::concerns(*entry, self, ranks)) return false;
    check(*entry);
    if (std::holds_alternative<protocol::abort>(entry->content)) {
      follower_.failed_elsewhere(entry->communicator, errc::transfer_aborted);
      return true;
    }
    if (!follower_.is_next(*entry)) return false;
    follower_.append(*entry);
    return true;
  }

  /// What is followed names ranks that exist, and encodes as it was.
  static void check(const log_entry& entry) {
    std::vector<std::byte> body;
    const log_message type = detail::encode(entry, body);
    const auto again = detail::decode(type, body);
    require(again && again->number == entry.number, "an entry reads back as itself");
    if (const auto* creation = std::get_if<protocol::create>(&entry.content))
      for (const int member : creation->members) require(member >= 0 && member < ranks, "members exist");
  }

  void advance() {
    while (const auto entry = follower_.next()) {
      require(entry->number > carried_out_, "entries are carried out in their order");
      carried_out_ = entry->number;
      if (std::holds_alternative<protocol::lease>(entry->content)) {
        require(launched_.empty(), "a lease has the device for itself");
        follower_.lease_ended();
      }
      if (!std::holds_alternative<protocol::batch>(entry->content)) continue;
      launched_.push_back(entry->communicator);
      const std::set<communicator_id> at_work(launched_.begin(), launched_.end());
      require(at_work.size() <= protocol::default_resident_communicators, "no more are at work than fit");
    }
    for (const communicator_id failed : follower_.take_failures())
      require(follower_.failure_of(failed) != nullptr, "what has failed is known to have");
  }

  void end_batch(std::size_t index) {
    const communicator_id ended = launched_[index];
    launched_.erase(launched_.begin() + static_cast<std::ptrdiff_t>(index));
    follower_.batch_ended(ended);
  }

  // Once all others are gone nothing has to be waited for.
  void finish() {
    for (int rank = 0; rank < ranks; ++rank)
      if (rank != self) follower_.rank_gone(rank, errc::peer_lost);
    advance();
    while (follower_.is_setting_up() || !launched_.empty()) {
      if (follower_.is_setting_up()) (void)follower_.set_up_ended({});
      if (!launched_.empty()) end_batch(0);
      advance();
    }
    require(follower_.is_idle(), "nothing waits for ranks that are gone");
  }

  protocol::log_follower follower_{self};
  std::vector<communicator_id> launched_;
  std::uint64_t last_ = 0;
  std::uint64_t carried_out_ = 0;
};

}  // namespace
}  // namespace weft::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::fuzz::fuzz_input input(data, size);
  weft::fuzz::play().run(input);
  return 0;
}
