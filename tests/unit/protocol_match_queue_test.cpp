// SPDX-License-Identifier: Apache-2.0
#include "protocol/match_queue.hpp"
#include "protocol/message_table.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace {

using weft::protocol::announce;
using weft::protocol::message_table;
using weft::protocol::no_slot;
using weft::protocol::pattern;
using slots = std::vector<std::uint32_t>;

/// A match queue and the table of its messages, which have numbers that a test chooses. A number that was matched or
/// withdrawn may be given to another message.
class match_queue {
 public:
  std::optional<std::uint32_t> arrive(std::uint32_t message, int source, std::uint64_t tag, std::uint64_t group = 0) {
    if (message >= slots_.size()) slots_.resize(message + std::size_t{1}, no_slot);
    std::uint32_t& slot = slots_[message];
    if (slot != no_slot) messages_.release(slot);
    announce body{};
    body.send = ++sends_;
    body.tag = tag;
    body.group = group;
    slot = messages_.hold(source, body);
    if (slot >= numbers_.size()) numbers_.resize(slot + std::size_t{1});
    numbers_[slot] = message;
    return queue_.arrive(slot);
  }
  std::optional<std::uint32_t> post(std::uint32_t receive, const pattern& wanted) {
    return number_of(queue_.post(receive, wanted));
  }
  /// A message that was matched will not come back.
  void forget(std::uint32_t message) { messages_.release(std::exchange(slots_[message], no_slot)); }
  bool withdraw_message(std::uint32_t message) {
    return queue_.withdraw_message(message < slots_.size() ? slots_[message] : no_slot);
  }
  bool withdraw_receive(std::uint32_t receive) { return queue_.withdraw_receive(receive); }
  std::optional<std::uint32_t> put_back_message(std::uint32_t message) {
    return queue_.put_back_message(slots_[message]);
  }
  std::optional<std::uint32_t> put_back_receive(std::uint32_t receive) {
    return number_of(queue_.put_back_receive(receive));
  }
  [[nodiscard]] std::size_t unexpected_count() const { return queue_.unexpected_count(); }
  [[nodiscard]] std::size_t posted_count() const { return queue_.posted_count(); }
  [[nodiscard]] std::size_t list_count() const { return queue_.list_count(); }

 private:
  [[nodiscard]] std::optional<std::uint32_t> number_of(std::optional<std::uint32_t> slot) const {
    return slot ? std::optional(numbers_[*slot]) : std::nullopt;
  }

  message_table messages_;
  weft::protocol::match_queue queue_{messages_};
  slots slots_;    ///< by number
  slots numbers_;  ///< by slot
  std::uint64_t sends_ = 0;
};

pattern exactly(int source, std::uint64_t tag) {
  return {.source = source, .any_source = false, .tag = tag};
}
pattern any_tag_from(int source) {
  return {.source = source, .any_source = false, .tag = 0, .any_tag = true};
}
pattern any_source_with(std::uint64_t tag) {
  return {.source = -1, .any_source = true, .tag = tag};
}
// What a wildcard stands beside means nothing, so it is given as nonsense here.
pattern anything() {
  return {.source = 77, .any_source = true, .tag = 99, .any_tag = true};
}

TEST_CASE("a message goes to the receive that asks for its source and tag, and to no other") {
  match_queue queue;
  CHECK_FALSE(queue.post(0, exactly(1, 7)));
  CHECK_FALSE(queue.post(1, exactly(2, 7)));
  CHECK_FALSE(queue.post(2, exactly(1, 8)));
  CHECK_FALSE(queue.arrive(0, 2, 8));
  CHECK(queue.arrive(1, 1, 8) == 2u);
  CHECK(queue.arrive(1, 2, 7) == 1u);
  CHECK(queue.arrive(1, 1, 7) == 0u);
  CHECK(queue.posted_count() == 0);
  CHECK(queue.unexpected_count() == 1);
}

TEST_CASE("messages of one source and tag are received in the order of arrival") {
  match_queue queue;
  for (std::uint32_t message : {5u, 3u, 9u}) CHECK_FALSE(queue.arrive(message, 1, 7));
  CHECK(queue.post(0, exactly(1, 7)) == 5u);
  CHECK(queue.post(0, any_tag_from(1)) == 3u);
  CHECK(queue.post(0, exactly(1, 7)) == 9u);
  CHECK_FALSE(queue.post(0, exactly(1, 7)));
}

TEST_CASE("the earliest posted receive wins, whichever wildcards it has") {
  const std::vector<pattern> kinds{exactly(1, 7), any_tag_from(1), any_source_with(7), anything()};
  std::vector<std::size_t> order{0, 1, 2, 3};
  do {
    match_queue queue;
    for (std::uint32_t i = 0; i < 4; ++i) CHECK_FALSE(queue.post(i, kinds[order[i]]));
    for (std::uint32_t i = 0; i < 4; ++i) CHECK(queue.arrive(0, 1, 7) == i);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("a wildcard receive takes the earliest message that satisfies it") {
  match_queue queue;
  CHECK_FALSE(queue.arrive(0, 1, 7));
  CHECK_FALSE(queue.arrive(1, 2, 8));
  CHECK_FALSE(queue.arrive(2, 1, 8));
  CHECK_FALSE(queue.arrive(3, 2, 7));
  CHECK(queue.post(0, any_source_with(8)) == 1u);
  CHECK(queue.post(0, any_tag_from(2)) == 3u);
  CHECK(queue.post(0, anything()) == 0u);
  CHECK(queue.post(0, anything()) == 2u);
}

TEST_CASE("what was withdrawn is not matched, and cannot be withdrawn twice") {
  match_queue queue;
  CHECK_FALSE(queue.post(0, exactly(1, 7)));
  CHECK(queue.withdraw_receive(0));
  CHECK_FALSE(queue.withdraw_receive(0));
  CHECK_FALSE(queue.withdraw_receive(12345));
  CHECK_FALSE(queue.arrive(4, 1, 7));
  CHECK(queue.withdraw_message(4));
  CHECK_FALSE(queue.withdraw_message(4));
  CHECK_FALSE(queue.withdraw_message(12345));
  CHECK_FALSE(queue.post(0, anything()));
}

TEST_CASE("a message that is put back stands where it stood") {
  match_queue queue;
  for (std::uint32_t message = 0; message < 4; ++message) CHECK_FALSE(queue.arrive(message, 1, message % 2));
  CHECK(queue.post(0, exactly(1, 1)) == 1u);
  CHECK_FALSE(queue.put_back_message(1));
  for (std::uint32_t message = 0; message < 4; ++message) CHECK(queue.post(0, anything()) == message);
}

TEST_CASE("a message that is put back goes to a receive that was posted meanwhile") {
  match_queue queue;
  CHECK_FALSE(queue.post(0, exactly(1, 7)));
  CHECK(queue.arrive(0, 1, 7) == 0u);
  CHECK_FALSE(queue.post(1, any_source_with(7)));
  CHECK(queue.put_back_message(0) == 1u);
  CHECK(queue.posted_count() == 0);
  CHECK(queue.unexpected_count() == 0);
}

TEST_CASE("a receive that is put back stands where it stood, or takes what arrived meanwhile") {
  match_queue queue;
  CHECK_FALSE(queue.post(0, exactly(1, 7)));
  CHECK_FALSE(queue.post(1, exactly(1, 7)));
  CHECK(queue.arrive(0, 1, 7) == 0u);
  CHECK_FALSE(queue.put_back_receive(0));
  CHECK(queue.arrive(1, 1, 7) == 0u);
  CHECK(queue.arrive(2, 1, 7) == 1u);
  CHECK_FALSE(queue.arrive(3, 1, 7));
  CHECK(queue.put_back_receive(0) == 3u);
}

TEST_CASE("messages of one group meet no receive of another") {
  match_queue queue;
  CHECK_FALSE(queue.arrive(0, 1, 7, 1));
  pattern wanted{.any_source = true, .any_tag = true};
  CHECK_FALSE(queue.post(0, wanted));
  wanted.group = 2;
  CHECK_FALSE(queue.post(1, wanted));
  wanted.group = 1;
  CHECK(queue.post(2, wanted) == 0u);
  CHECK(queue.arrive(3, 1, 7, 2) == 1u);
  CHECK(queue.arrive(4, 1, 7) == 0u);
}

TEST_CASE("tags that never come again leave nothing behind") {
  match_queue queue;
  for (std::uint64_t tag = 0; tag < 20'000; ++tag) {
    REQUIRE_FALSE(queue.arrive(0, 1, tag));
    REQUIRE(queue.post(0, exactly(1, tag)) == 0u);
    REQUIRE_FALSE(queue.post(0, exactly(2, tag)));
    REQUIRE(queue.arrive(0, 2, tag) == 0u);
  }
  CHECK(queue.list_count() < 2'000);
}

TEST_CASE("tags that come twice, and wait long the second time, leave nothing behind") {
  constexpr std::uint32_t window = 1'000;
  match_queue queue;
  for (std::uint32_t tag = 0; tag < 20'000; ++tag) {
    REQUIRE_FALSE(queue.arrive(tag % window, 1, tag));
    REQUIRE(queue.post(0, exactly(1, tag)) == tag % window);
    REQUIRE_FALSE(queue.arrive(tag % window, 1, tag));
    if (tag + 1 < window) continue;
    const std::uint32_t oldest = tag + 1 - window;
    REQUIRE(queue.post(0, exactly(1, oldest)) == oldest % window);
  }
  CHECK(queue.unexpected_count() == window - 1);
  CHECK(queue.list_count() < 5'000);
}

TEST_CASE("a burst of many tags leaves few lists behind") {
  constexpr std::uint32_t many = 100'000;
  match_queue queue;
  for (std::uint32_t i = 0; i < many; ++i) REQUIRE_FALSE(queue.arrive(i, 1, i));
  CHECK(queue.list_count() >= many);
  // From both ends, so that neither the oldest nor the newest is found by luck.
  for (std::uint32_t i = 0; i < many / 2; ++i) {
    REQUIRE(queue.post(0, exactly(1, i)) == i);
    REQUIRE(queue.post(0, any_source_with(many - 1 - i)) == many - 1 - i);
    queue.forget(i);
    queue.forget(many - 1 - i);
  }
  CHECK(queue.unexpected_count() == 0);
  CHECK(queue.list_count() < 2'000);
}

TEST_CASE("a hundred thousand entries that do not match are not in the way of one that does") {
  constexpr std::uint32_t many = 100'000;
  match_queue queue;
  for (std::uint32_t i = 0; i < many; ++i) REQUIRE_FALSE(queue.arrive(i, 1, 7));
  for (std::uint32_t i = 0; i < many; ++i) REQUIRE_FALSE(queue.post(i, exactly(2, i % 16)));
  // A search would take 10^10 steps here.
  for (std::uint32_t i = 0; i < many; ++i) {
    REQUIRE_FALSE(queue.post(many, any_source_with(1'000)));
    REQUIRE(queue.arrive(many, 3, 1'000) == many);
    REQUIRE_FALSE(queue.arrive(many, 3, 9));
    REQUIRE(queue.post(many, any_tag_from(3)) == many);
  }
  CHECK(queue.unexpected_count() == many);
  CHECK(queue.posted_count() == many);
}

/// The same rules, written down as they are read.
class plain_matcher {
 public:
  struct message {
    std::uint32_t slot;
    int source;
    std::uint64_t tag;
    std::uint64_t group;
    std::uint64_t arrival;
  };
  struct receive {
    std::uint32_t slot;
    pattern wanted;
    std::uint64_t posting;
  };

  std::optional<receive> offer(message offered) {
    const auto found = std::find_if(receives.begin(), receives.end(), [&](const receive& one) {
      return one.wanted.group == offered.group && one.wanted.matches(offered.source, offered.tag);
    });
    if (found == receives.end()) return insert(messages, offered, &message::arrival), std::nullopt;
    return take(receives, found);
  }
  std::optional<message> serve(receive served) {
    const auto found = std::find_if(messages.begin(), messages.end(), [&](const message& one) {
      return served.wanted.group == one.group && served.wanted.matches(one.source, one.tag);
    });
    if (found == messages.end()) return insert(receives, served, &receive::posting), std::nullopt;
    return take(messages, found);
  }

  std::vector<message> messages;  ///< in order of arrival
  std::vector<receive> receives;  ///< in order of posting

  template <class T>
  static T take(std::vector<T>& from, typename std::vector<T>::iterator at) {
    const T taken = *at;
    from.erase(at);
    return taken;
  }

 private:
  template <class T>
  static void insert(std::vector<T>& to, const T& value, std::uint64_t T::*order) {
    to.insert(
        std::upper_bound(to.begin(), to.end(), value, [=](const T& a, const T& b) { return a.*order < b.*order; }),
        value);
  }
};

/// A queue and a plain matcher given the same events; what they answer is compared at each.
class twins {
 public:
  /// `growth`: how many arrivals there are for three receives.
  twins(std::uint32_t seed, int sources, int tags, int growth)
      : random_(seed), sources_(sources), tags_(tags), growth_(growth) {}

  void step() {
    switch (std::max(0, below(10 + growth_ - 3) - (growth_ - 3))) {
      case 0:
      case 1:
      case 2:
        return offer({new_message(), below(sources_), some_tag(), some_group(), ++arrivals_}, false);
      case 3:
      case 4:
      case 5:
        return serve({new_receive(), random_pattern(), ++postings_}, false);
      case 6:
        return withdraw_message();
      case 7:
        return withdraw_receive();
      case 8:
        return put_back(true);
      default:
        return put_back(false);
    }
  }

  int below(int limit) { return std::uniform_int_distribution(0, limit - 1)(random_); }

 private:
  using message = plain_matcher::message;
  using receive = plain_matcher::receive;

  pattern random_pattern() {
    return {.source = below(sources_),
            .any_source = below(3) == 0,
            .tag = some_tag(),
            .any_tag = below(3) == 0,
            .group = some_group()};
  }
  std::uint64_t some_tag() { return static_cast<std::uint64_t>(below(tags_)); }
  std::uint64_t some_group() { return static_cast<std::uint64_t>(below(2)); }
  static std::uint32_t next(slots& free, std::uint32_t& made) {
    if (free.empty()) return made++;
    return *std::exchange(free, slots(free.begin(), free.end() - 1)).rbegin();
  }
  std::uint32_t new_message() { return next(free_messages_, made_messages_); }
  std::uint32_t new_receive() { return next(free_receives_, made_receives_); }

  void offer(const message& offered, bool again) {
    const auto got = again ? queue_.put_back_message(offered.slot)
                           : queue_.arrive(offered.slot, offered.source, offered.tag, offered.group);
    const auto expected = plain_.offer(offered);
    REQUIRE(got.has_value() == expected.has_value());
    if (!expected) return;
    REQUIRE(*got == expected->slot);
    matched_.emplace_back(offered, *expected);
  }
  void serve(const receive& served, bool again) {
    const auto got = again ? queue_.put_back_receive(served.slot) : queue_.post(served.slot, served.wanted);
    const auto expected = plain_.serve(served);
    REQUIRE(got.has_value() == expected.has_value());
    if (!expected) return;
    REQUIRE(*got == expected->slot);
    matched_.emplace_back(*expected, served);
  }
  void withdraw_message() {
    if (plain_.messages.empty()) return;
    const auto at = plain_.messages.begin() + below(static_cast<int>(plain_.messages.size()));
    free_messages_.push_back(plain_matcher::take(plain_.messages, at).slot);
    REQUIRE(queue_.withdraw_message(free_messages_.back()));
  }
  void withdraw_receive() {
    if (plain_.receives.empty()) return;
    const auto at = plain_.receives.begin() + below(static_cast<int>(plain_.receives.size()));
    free_receives_.push_back(plain_matcher::take(plain_.receives, at).slot);
    REQUIRE(queue_.withdraw_receive(free_receives_.back()));
  }
  /// Undoes a match: one end goes back, the other is withdrawn.
  void put_back(bool its_message) {
    if (matched_.empty()) return;
    const auto [sent, taken] =
        plain_matcher::take(matched_, matched_.begin() + below(static_cast<int>(matched_.size())));
    REQUIRE_FALSE(queue_.withdraw_message(sent.slot));
    REQUIRE_FALSE(queue_.withdraw_receive(taken.slot));
    (its_message ? free_receives_ : free_messages_).push_back(its_message ? taken.slot : sent.slot);
    if (its_message)
      offer(sent, true);
    else
      serve(taken, true);
  }

  match_queue queue_;
  plain_matcher plain_;
  std::mt19937 random_;
  int sources_;
  int tags_;
  int growth_;
  std::vector<std::pair<message, receive>> matched_;
  slots free_messages_;
  slots free_receives_;
  std::uint32_t made_messages_ = 0;
  std::uint32_t made_receives_ = 0;
  std::uint64_t arrivals_ = 0;
  std::uint64_t postings_ = 0;
};

void compare_histories(int sources, int tags, int growth) {
  const std::uint32_t base = std::random_device{}();
  for (std::uint32_t i = 0; i < 40; ++i) {
    const std::uint32_t seed = base + i;
    CAPTURE(seed);
    twins both(seed, sources, tags, growth);
    for (int step = 0; step < 2'000; ++step) both.step();
  }
}

TEST_CASE("a random history of matches, withdrawals and returns ends as a plain search would have it") {
  compare_histories(4, 4, 3);
}

// So many sources and tags that most messages are alone with theirs.
TEST_CASE("a random history among many sources and tags ends as a plain search would have it") {
  compare_histories(10, 100, 8);
}

}  // namespace
