// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <ostream>
#include <random>
#include <utility>

namespace weft::simulation {
namespace {

/// How the receives of one rank within one group find their messages.
enum class reception : std::uint8_t {
  by_tag,        ///< low tags by name of the source, higher ones from any source
  by_source,     ///< any tag of a source
  any_of_group,  ///< any tag of any source
};

constexpr std::uint64_t first_any_source_tag = 4;
constexpr std::uint64_t tags = 6;
constexpr std::uint64_t first_warm_up_tag = 1'000;

/// Makes the messages of a program one after the other, and gives both their ends to coroutines that start theirs in
/// this order. So a program without provoked ends needs no luck: of the messages that are not over, both ends of the
/// first are started sooner or later, and whatever these wait for came before it. This holds because messages that are
/// received by name are started and received by one coroutine each, and receives with wildcards, which may take a later
/// message, by one that waits for nothing.
class generator {
 public:
  generator(std::uint32_t seed, const program_shape& shape) : shape_(shape), random_(seed) {
    made_.seed = seed;
    made_.strands.resize(static_cast<std::size_t>(shape.ranks));
    for (auto& strands : made_.strands) strands.resize(coroutines);
    made_.groups.emplace_back().members.resize(made_.strands.size());
    std::iota(made_.groups[0].members.begin(), made_.groups[0].members.end(), 0);
  }

  program make() {
    if (one_in(3)) split(0);
    if (made_.groups.size() > 1 && one_in(2)) split(1);
    if (one_in(5)) {
      exchange();
      return std::move(made_);
    }
    made_.provokes_ends = one_in(2);
    made_.provokes_mismatches = made_.provokes_ends && one_in(4);
    made_.has_unready = shape_.with_unready && one_in(2);
    in_two_parts_ = shape_.with_heads && !made_.provokes_mismatches && one_in(3);
    if (one_in(4)) warm_up();
    busy_ = busy_ || one_in(3);
    for (int i = 0; i < shape_.messages; ++i) message();
    return std::move(made_);
  }

 private:
  /// The last one of a rank never waits.
  static constexpr std::size_t coroutines = 4;
  static constexpr std::size_t patient = coroutines - 1;

  std::size_t below(std::size_t limit) { return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random_); }
  int some(std::size_t limit) { return static_cast<int>(below(limit)); }
  bool one_in(std::size_t chances) { return below(chances) == 0; }

  void split(int parent) {
    const std::vector<int> members = made_.groups[static_cast<std::size_t>(parent)].members;
    split_plan plan{.parent = parent, .wishes = {}};
    for (std::size_t i = 0; i < members.size(); ++i)
      plan.wishes.push_back({.color = one_in(6) ? -1 : some(2), .key = some(members.size())});
    for (int color = 0; color < 2; ++color) form(plan, members, color);
    made_.splits.push_back(std::move(plan));
  }

  void form(split_plan& plan, const std::vector<int>& parent_members, int color) {
    std::vector<std::size_t> chosen;
    for (std::size_t i = 0; i < plan.wishes.size(); ++i)
      if (plan.wishes[i].color == color) chosen.push_back(i);
    if (chosen.empty()) return;
    std::sort(chosen.begin(), chosen.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(plan.wishes[a].key, a) < std::pair(plan.wishes[b].key, b);
    });
    group_plan& group = made_.groups.emplace_back();
    for (const std::size_t member : chosen) {
      plan.wishes[member].group = static_cast<int>(made_.groups.size()) - 1;
      group.members.push_back(parent_members[member]);
    }
  }

  planned_operation& add(int group, bool sending, int rank_in_group) {
    planned_operation& added = made_.operations.emplace_back();
    added.number = static_cast<int>(made_.operations.size()) - 1;
    added.group = group;
    added.sending = sending;
    added.rank = made_.world_rank(group, rank_in_group);
    return added;
  }

  void start(const planned_operation& operation, std::size_t coroutine) {
    strand& by = made_.strands[static_cast<std::size_t>(operation.rank)][coroutine];
    if (by.empty() || by.back().waits || one_in(3)) by.push_back({.operations = {}, .as_batch = one_in(2)});
    by.back().operations.push_back(operation.number);
    by.back().waits = coroutine != patient && !busy_ && one_in(3);
  }

  /// A coroutine that waited for its message to itself before it received it would wait for ever.
  void start_together(const planned_operation& send, const planned_operation& receive, std::size_t coroutine) {
    start(send, coroutine);
    step& last = made_.strands[static_cast<std::size_t>(send.rank)][coroutine].back();
    last.operations.push_back(receive.number);
  }

  // ---- neighbours all know each other, and then everybody sends at once

  void warm_up() {
    for (int low = 0; low < shape_.ranks; ++low)
      for (int step = 1; step <= std::min(3, shape_.ranks - 1); ++step) {
        const int other = (low + step) % shape_.ranks;
        planned_operation& send = add(0, true, low);
        send.peer = other;
        send.via = weft::route::pair;
        send.tag = first_warm_up_tag + static_cast<std::uint64_t>(step);
        send.units = 1;
        if (made_.provokes_ends) send.limit = long_limit;
        const planned_operation sent = send;
        planned_operation& receive = add(0, false, other);
        receive.peer = low;
        receive.tag = sent.tag;
        receive.units = 1;
        receive.limit = sent.limit;
        wait_for(low, sent.number);
        wait_for(other, receive.number);
      }
    busy_ = all_in_one_ = true;
  }

  // ---- messages of any kind

  void message() {
    const int group = one_in(2) ? 0 : some(made_.groups.size());
    const auto& members = made_.groups[static_cast<std::size_t>(group)].members;
    const int source = some(members.size());
    const int destination = some(members.size());
    const bool unready = made_.has_unready && one_in(3);
    const reception how = reception_of(group, destination);
    const std::uint64_t tag = tag_for(how);
    const std::size_t units = units_for(how, group, source, destination, tag);

    planned_operation send = add(group, true, source);
    send.peer = destination;
    send.tag = tag;
    send.units = units;
    send.via = route_for(units);
    send.until_matched = one_in(3);
    planned_operation receive = add(group, false, destination);
    const bool any_source = how == reception::any_of_group || (how == reception::by_tag && takes_any_source(tag));
    receive.peer = any_source ? -1 : source;
    receive.any_tag = how != reception::by_tag;
    receive.tag = receive.any_tag ? 0 : tag;
    receive.units = made_.provokes_mismatches && one_in(10) ? units + 1 : units;
    // All messages that a receive could take are of one size, so they are of one kind.
    if (in_two_parts_ && units > eager_units) send.head = receive.head = units / 3;

    const bool by_name = !any_source && !receive.any_tag;
    std::size_t coroutine = (static_cast<std::size_t>(source + destination) + tag) % patient;
    if (made_.provokes_ends) coroutine = below(coroutines);
    if (all_in_one_) coroutine = 0;
    for (planned_operation* one : {&send, &receive}) {
      if (unready && (by_name || made_.provokes_ends)) make_unready(*one);
      if (made_.provokes_ends) provoke_end(*one);
      made_.operations[static_cast<std::size_t>(one->number)] = *one;
    }
    if (source == destination && by_name) return start_together(send, receive, coroutine);
    start(send, coroutine);
    start(receive, by_name ? coroutine : patient);
  }

  /// The same for all receives of a rank in a group, or they might take each other's messages.
  reception reception_of(int group, int destination) {
    if (all_in_one_) return reception::by_tag;  // nor those of the warm-up
    if (made_.provokes_ends) return static_cast<reception>(below(3));
    const std::size_t mixed = (made_.seed >> 3) + static_cast<std::size_t>(7 * group + destination);
    return static_cast<reception>(std::array{0, 0, 0, 1, 2}[mixed % 5]);
  }

  std::uint64_t tag_for(reception how) {
    return how == reception::by_tag && !made_.provokes_ends ? below(tags) : below(tags / 2);
  }

  bool takes_any_source(std::uint64_t tag) { return made_.provokes_ends ? one_in(3) : tag >= first_any_source_tag; }

  /// The same for all messages that a receive could take.
  std::size_t units_for(reception how, int group, int source, int destination, std::uint64_t tag) const {
    static constexpr std::array<std::size_t, 8> choices{0, 1, 5, eager_units, eager_units + 1, 40, 100, 260};
    std::size_t mixed = (made_.seed >> 5) + static_cast<std::size_t>(3 * group + 5 * destination);
    if (how == reception::by_tag) mixed += static_cast<std::size_t>(tag);
    if (how == reception::by_source) mixed += static_cast<std::size_t>(source);
    // Where receives of all kinds meet messages of all kinds, only one size will do.
    if (made_.provokes_ends) mixed = (made_.seed >> 5) + static_cast<std::size_t>(destination);
    return choices[mixed % choices.size()];
  }

  weft::route route_for(std::size_t units) {
    static constexpr std::array choices{weft::route::automatic, weft::route::inlined, weft::route::host,
                                        weft::route::device,    weft::route::device,  weft::route::pair,
                                        weft::route::pair};
    const weft::route via = choices[below(choices.size())];
    return via == weft::route::inlined && units > eager_units ? weft::route::host : via;
  }

  /// After an operation of the same rank that came before.
  void make_unready(planned_operation& operation) {
    for (int i = operation.number - 1 - some(8); i >= 0; --i) {
      const planned_operation& earlier = made_.operations[static_cast<std::size_t>(i)];
      // Not the other end of the same message.
      if (earlier.rank != operation.rank || message_of(i) == message_of(operation.number)) continue;
      operation.ready_after = i;
      return;
    }
  }

  void provoke_end(planned_operation& operation) {
    static constexpr std::size_t soon = 300;
    operation.limit = one_in(6) ? some(soon) : long_limit;
    if (one_in(4)) operation.cancelled_after = some(soon);
  }

  // ---- neighbours that both send before they receive, and rely on the credit for small messages

  void exchange() {
    made_.relies_on_credit = true;
    const int rounds = std::max(10, shape_.messages / shape_.ranks);
    for (int round = 0; round < rounds; ++round)
      for (int low = 0; low + 1 < shape_.ranks; low += 2) {
        const int there = small_message(low, low + 1);
        const int back = small_message(low + 1, low);
        wait_for(low, there);
        wait_for(low + 1, back);
        wait_for(low, back + 1);
        wait_for(low + 1, there + 1);
      }
  }

  /// The number of its send; that of its receive is the next.
  int small_message(int source, int destination) {
    planned_operation& send = add(0, true, source);
    const int number = send.number;
    send.peer = destination;
    send.units = eager_units / 2;
    send.via = weft::route::inlined;
    planned_operation& receive = add(0, false, destination);
    receive.peer = source;
    receive.units = eager_units / 2;
    return number;
  }

  void wait_for(int rank, int operation) {
    made_.strands[static_cast<std::size_t>(rank)][0].push_back({.operations = {operation}, .waits = true});
  }

  program_shape shape_;
  std::mt19937 random_;
  program made_;
  bool busy_ = false;        ///< nobody waits: everything is started at once
  bool all_in_one_ = false;  ///< by one coroutine of each rank
  bool in_two_parts_ = false;
};

}  // namespace

bool program::satisfies(const planned_operation& send, const planned_operation& receive) const {
  if (!send.sending || receive.sending || send.group != receive.group) return false;
  if (world_rank(send.group, send.peer) != receive.rank) return false;
  if (receive.peer >= 0 && world_rank(receive.group, receive.peer) != send.rank) return false;
  return receive.any_tag || receive.tag == send.tag;
}

std::string name_of(const planned_operation& operation) {
  return (operation.sending ? "send " : "receive ") + std::to_string(message_of(operation.number));
}

std::ostream& operator<<(std::ostream& out, const planned_operation& operation) {
  return out << name_of(operation);
}

program make_program(std::uint32_t seed, const program_shape& shape) {
  return generator(seed, shape).make();
}

}  // namespace weft::simulation
