// SPDX-License-Identifier: Apache-2.0
// What messages that nobody receives cost the endpoint that holds them. Every allocation of this program is counted.
#include "protocol/endpoint.hpp"

#include <doctest/doctest.h>

#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

using namespace weft::protocol;
using weft::errc;

namespace {

// As the allocator counts: what a block really takes.
std::size_t live_bytes = 0;
std::size_t allocations = 0;
std::size_t largest_block = 0;

void* counted(void* block) {
  if (block == nullptr) throw std::bad_alloc();
  const std::size_t size = malloc_usable_size(block);
  live_bytes += size;
  largest_block = std::max(largest_block, size);
  ++allocations;
  return block;
}
void freed(void* block) noexcept {
  live_bytes -= block == nullptr ? 0 : malloc_usable_size(block);
  std::free(block);
}

}  // namespace

void* operator new(std::size_t size) {
  return counted(std::malloc(size));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return counted(std::aligned_alloc(static_cast<std::size_t>(alignment), size));
}
void operator delete(void* block) noexcept {
  freed(block);
}
void operator delete(void* block, std::size_t) noexcept {
  freed(block);
}
void operator delete(void* block, std::align_val_t) noexcept {
  freed(block);
}
void operator delete(void* block, std::size_t, std::align_val_t) noexcept {
  freed(block);
}

namespace {

// A million; fewer with sanitizers, which slow it down.
constexpr std::uint64_t flood = FLOOD_MESSAGES;
constexpr std::uint64_t message_bytes = 1024;
constexpr std::size_t credit_bytes = std::size_t{4} << 20;

// Per message, with all that grows with their number.
constexpr std::size_t most_of_one_tag = 64;
constexpr std::size_t most_of_a_tag_each = 160;
// The longest that a step may take is the time for a block of this size: nothing that holds the messages is moved.
constexpr std::size_t largest_step = std::size_t{128} << 10;

/// A rank that two others send to. What it wants done is counted, not done.
class flooded_endpoint {
 public:
  explicit flooded_endpoint(std::size_t max_unmatched = flood)
      : endpoint_(0, {credit_bytes, credit_bytes, credit_bytes},
                  {.eager_limit = 16 << 10,
                   .max_unmatched = max_unmatched,
                   .max_object_bytes = std::size_t{1} << 30,
                   .inline_credit = credit_bytes}) {}

  /// False: refused.
  [[nodiscard]] bool announce_one(int source, std::uint64_t tag) {
    announce body{};
    body.is_ready = 1;
    body.send = ++announced_ << 32 | 1;
    body.tag = tag;
    body.bytes = message_bytes;
    body.route = weft::route::inlined;
    body.has_payload = (announced_ * message_bytes <= credit_bytes) ? 1 : 0;
    const bool understood = endpoint_.on_announce(source, body, actions_);
    const bool was_refused = std::ranges::any_of(actions_, [](const action& next) {
      return next.type == action_type::transmit && next.message_kind == message_type::refused &&
             next.body.refused.code == static_cast<std::uint32_t>(errc::too_many_unmatched);
    });
    actions_.clear();
    return understood && !was_refused;
  }

  /// Receives one message to its end: the sender's number of it, from 1; 0 if there is none.
  [[nodiscard]] std::uint64_t receive_one(const weft::origin& where) {
    const operation_id id = endpoint_.allocate();
    endpoint_.start_receive(id, where, {.bytes = message_bytes}, actions_);
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < actions_.size(); ++i) {
      if (actions_[i].type == action_type::use_kept) number = ++inline_received_;
      if (actions_[i].type != action_type::transmit || actions_[i].message_kind != message_type::clear) continue;
      number = actions_[i].body.clear.send >> 32;
      endpoint_.on_streamed(id, message_bytes, actions_);
    }
    const bool ended = std::ranges::any_of(
        actions_, [&](const action& next) { return next.type == action_type::complete && next.operation == id; });
    actions_.clear();
    return ended ? number : 0;
  }

  [[nodiscard]] const endpoint& get() const { return endpoint_; }

 private:
  endpoint endpoint_;
  actions actions_;
  std::uint64_t announced_ = 0;
  std::uint64_t inline_received_ = 0;
};

/// Whether `is_right` holds for all numbers of a range: a million assertions would take longer than what they look at.
template <class Predicate>
bool for_all(std::uint64_t from, std::uint64_t to, Predicate is_right) {
  for (std::uint64_t i = from; i < to; ++i) {
    if (is_right(i)) continue;
    MESSAGE("not for ", i);
    return false;
  }
  return true;
}

}  // namespace

TEST_CASE("a million unmatched messages cost 64 bytes each, are received in order, and cost nothing the next time") {
  flooded_endpoint rank;
  const std::size_t before = live_bytes;
  largest_block = 0;
  REQUIRE(for_all(0, flood, [&](std::uint64_t i) { return rank.announce_one(1, i % 4); }));
  const std::size_t per_message = (live_bytes - before) / flood;
  CAPTURE(per_message);
  CHECK(per_message <= most_of_one_tag);
  CHECK(largest_block <= largest_step);
  CHECK(rank.get().unmatched_messages() == flood);

  // The first of each tag by name, all others as they came, by both kinds of wildcards.
  REQUIRE(for_all(0, 4, [&](std::uint64_t i) { return rank.receive_one(weft::from(1, i)) == i + 1; }));
  REQUIRE(for_all(4, flood, [&](std::uint64_t i) {
    return rank.receive_one(i % 2 == 0 ? weft::from(weft::any_source, weft::any_tag) : weft::from(1, weft::any_tag)) ==
           i + 1;
  }));
  CHECK(rank.get().unmatched_messages() == 0);
  CHECK(rank.get().in_flight() == 0);

  const std::size_t allocations_before = allocations;
  REQUIRE(for_all(0, flood, [&](std::uint64_t i) { return rank.announce_one(1, i % 4); }));
  REQUIRE(for_all(0, flood, [&](std::uint64_t i) {
    return rank.receive_one(weft::from(weft::any_source, i % 4)) == flood + i + 1;
  }));
  CHECK(allocations == allocations_before);
}

TEST_CASE("a million messages with a tag each cost 160 bytes each, and are found by tag or in order") {
  flooded_endpoint rank;
  const std::size_t before = live_bytes;
  largest_block = 0;
  const auto source_of = [](std::uint64_t i) { return 1 + static_cast<int>(i % 2); };
  REQUIRE(for_all(0, flood, [&](std::uint64_t i) { return rank.announce_one(source_of(i), i); }));
  const std::size_t per_message = (live_bytes - before) / flood;
  CAPTURE(per_message);
  CHECK(per_message <= most_of_a_tag_each);
  CHECK(largest_block <= largest_step);

  REQUIRE(for_all(0, flood, [&](std::uint64_t i) {
    const weft::origin where = i % 3 == 0   ? weft::from(source_of(i), i)
                               : i % 3 == 1 ? weft::from(weft::any_source, i)
                                            : weft::from(weft::any_source, weft::any_tag);
    return rank.receive_one(where) == i + 1;
  }));
  CHECK(rank.get().unmatched_messages() == 0);
}

TEST_CASE("past max_unmatched sends fail by name, and are taken again once some are matched") {
  constexpr std::uint64_t most = 10'000;
  flooded_endpoint rank(most);
  REQUIRE(for_all(0, most, [&](std::uint64_t) { return rank.announce_one(1, 7); }));
  CHECK_FALSE(rank.announce_one(1, 7));
  CHECK_FALSE(rank.announce_one(2, 8));
  CHECK(rank.get().unmatched_messages() == most);
  CHECK(rank.receive_one(weft::from(1, 7)) == 1);
  CHECK(rank.receive_one(weft::from(1, 7)) == 2);
  CHECK(rank.announce_one(2, 8));
  CHECK(rank.announce_one(1, 7));
  CHECK_FALSE(rank.announce_one(1, 7));
  CHECK(rank.receive_one(weft::from(2, 8)) == most + 3);
}
